"""The options for files with results: `--json`, `--junit` and `--markdown`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from broker_scenarios.result_files import ResultFiles

__all__ = ["add", "files_of"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the results to this file, one JSON line per run"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results to this file as JUnit XML")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="append a summary to this file, as for $GITHUB_STEP_SUMMARY"
    )


def files_of(options: argparse.Namespace) -> ResultFiles:
    """Return the requested files."""
    from broker_scenarios.result_files import ResultFiles

    return ResultFiles(json=options.json, junit=options.junit, markdown=options.markdown)
