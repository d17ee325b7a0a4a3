"""`broker-sim protocol docs`: write the reference documentation of the protocol, one Markdown page per API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    import argparse


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser("docs", help="write the reference documentation, one Markdown page per API")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder for the pages (made when it is missing)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the pages; refuses a folder that cannot be written."""
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.errors import ScenarioError
    from protocol_specs.reference_docs import pages

    folder: Path = options.folder
    made = pages()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise ScenarioError(
            f"{error.filename or folder}: {reason_of(error)}; give a folder that can be written"
        ) from None
    print_lines([f"{len(made)} pages in {folder}"])
    return 0
