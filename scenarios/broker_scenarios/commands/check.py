"""`broker-sim check`: judge the history of any client against any broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

EXIT_CODES: Final = """exit status:
  0  valid: nothing was found that the promises do not permit
  1  broken: a finding breaks a promise
  2  a file cannot be used; one line on stderr names file, line and key
  3  unknown: nothing is broken, and something could not be judged
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    import argparse

    parser = commands.add_parser(
        "check",
        help="judge a history of any client against any broker",
        description="Judge a history in the neutral form: lost, duplicated and reordered records, skipped polls, "
        "torn and hung transactions, and what else the promises forbid.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "history",
        type=Path,
        metavar="HISTORY",
        help="operations, one JSON object per line, or sends (Parquet, Arrow)",
    )
    parser.add_argument(
        "--promises",
        type=Path,
        required=True,
        metavar="FILE",
        help="topics, configurations, claims and faults (JSON or YAML)",
    )
    parser.add_argument("--logs", type=Path, metavar="FILE", help="what the partitions hold at the end (JSON)")
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the verdict. Raises ScenarioError if a file cannot be used."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.histories.judge import check_history
    from broker_scenarios.histories.verdict_text import verdict_lines
    from broker_scenarios.verdict import Validity

    verdict = check_history(options.history, options.promises, options.logs)
    print_lines([json.dumps(verdict.as_json(), indent=1)] if options.json else verdict_lines(verdict, options.history))
    return {Validity.VALID: 0, Validity.BROKEN: 1, Validity.UNKNOWN: 3}[verdict.validity]
