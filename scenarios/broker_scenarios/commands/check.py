"""`broker-sim check`: judge a history of any client against any broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.text_forms import plural

if TYPE_CHECKING:
    import argparse

    from broker_scenarios.judge_history import HistoryJudgement, JudgedFinding

__all__ = ["add"]

EXIT_OF: Final = {"valid": 0, "broken": 1, "unknown": 3}
_SHOWN_MAX: Final = 5
_EPILOG: Final = """exit status:
  0  valid: nothing was found that the promises do not permit
  1  broken: a finding breaks a promise
  2  a file or an argument cannot be used; one line on stderr names it
  3  unknown: something could not be judged
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    import argparse

    parser = commands.add_parser(
        "check",
        help="judge a history of any client against any broker",
        description="Judge a history of any client against any broker, in the neutral form: one operation per line.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("history", type=Path, metavar="HISTORY", help="the history (JSON lines)")
    parser.add_argument(
        "--promises", type=Path, metavar="FILE", help="configurations, claims and known faults (JSON or YAML)"
    )
    parser.add_argument("--logs", type=Path, metavar="FILE", help="what the partitions hold (JSON)")
    parser.add_argument("--json", action="store_true", help="print the judgement as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Judge the history and print the judgement."""
    from broker_scenarios.history_checks.claims import Claims, read_claims
    from broker_scenarios.judge_history import judge_history, read_logs
    from broker_scenarios.operations import read_operations

    claims = Claims() if options.promises is None else read_claims(options.promises)
    logs = {} if options.logs is None else read_logs(options.logs)
    judgement = judge_history(read_operations(options.history), claims, logs)
    if options.json:
        print(json.dumps(judgement.as_json(), indent=1))
    else:
        _print(judgement)
    return EXIT_OF[judgement.verdict.value]


def _print(judgement: HistoryJudgement) -> None:
    print(f"verdict: {judgement.verdict.value}")
    for finding in judgement.findings:
        allowed = "" if finding.allowed is None else f" (permitted: {finding.allowed})"
        print(f"{finding.name}: {plural(len(finding.found), 'finding')}{allowed}")
        _print_examples(finding)
    for reason in judgement.reasons:
        print(f"not judged: {reason}")


def _print_examples(finding: JudgedFinding) -> None:
    for found in finding.found[:_SHOWN_MAX]:
        where = "" if found.key is None else f" in {found.key}"
        values = f" {', '.join(map(str, found.values))}" if found.values else ""
        ops = ", ".join(str(op) for call in found.calls[:_SHOWN_MAX] for op in call.ops)
        print(f" {values}{where}: {f'ops {ops}' if ops else 'no operation of its own'}")
    if len(finding.found) > _SHOWN_MAX:
        print(f"  ... and {len(finding.found) - _SHOWN_MAX:,} more")
