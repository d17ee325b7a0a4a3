"""`broker-sim check`: judge the history of any client against any broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.commands import spark_options

if TYPE_CHECKING:
    import argparse

    from broker_scenarios.histories.history_verdict import HistoryVerdict

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
    parser.add_argument(
        "--logs",
        type=Path,
        metavar="FILE",
        help="what the partitions hold at the end (JSON; Parquet, Arrow for a table of sends)",
    )
    spark_options.add(parser, "a table of sends in tasks of Spark (Parquet; needs Java 17)")
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the verdict. Raises ScenarioError if a file cannot be used."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.histories.verdict_text import verdict_lines
    from broker_scenarios.verdict import Validity

    spark_options.refuse_without_spark(options, "master")
    judge = _judge_on_spark if options.spark else _judge
    verdict = judge(options)
    print_lines([json.dumps(verdict.as_json(), indent=1)] if options.json else verdict_lines(verdict, options.history))
    return {Validity.VALID: 0, Validity.BROKEN: 1, Validity.UNKNOWN: 3}[verdict.validity]


def _judge(options: argparse.Namespace) -> HistoryVerdict:
    from broker_scenarios.histories.judge import check_history

    return check_history(options.history, options.promises, options.logs)


def _judge_on_spark(options: argparse.Namespace) -> HistoryVerdict:
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.histories.circumstances import read_circumstances
    from broker_scenarios.histories.judge import is_table

    for name, path in (("the history", options.history), ("--logs", options.logs)):
        if path is not None and not path.exists():
            raise ScenarioError(f"{path} ({name}): no such file or folder")
        if path is not None and not is_table(path):
            raise ScenarioError(f"{path} ({name}) is no table: Spark judges tables of sends, expected Parquet")
    circumstances = read_circumstances(options.promises)
    # A file that cannot be used is reported without a Spark.
    from broker_scenarios.spark.judge import judge_on_spark
    from broker_scenarios.spark.session import start_session

    spark = start_session("broker-sim check", **spark_options.settings_of(options))
    return judge_on_spark(spark, options.history, circumstances, options.logs)
