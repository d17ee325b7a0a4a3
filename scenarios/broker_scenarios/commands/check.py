"""`broker-sim check`: judge the history of any client against any broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from broker_scenarios.histories.history_verdict import HistoryVerdict, JudgedFinding
    from broker_scenarios.operations import Op

SHOWN_MAX: Final = 20
"""The findings of one name that the text form shows, and the operations of one finding."""
LINE_MAX: Final = 160
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
    from broker_scenarios.verdict import Validity

    verdict = check_history(options.history, options.promises, options.logs)
    print_lines([json.dumps(verdict.as_json(), indent=1)] if options.json else _lines(verdict, options.history))
    return {Validity.VALID: 0, Validity.BROKEN: 1, Validity.UNKNOWN: 3}[verdict.validity]


def _lines(verdict: HistoryVerdict, history: Path) -> Iterator[str]:
    from broker_scenarios.findings import FINDING_HELP, FindingKind
    from broker_scenarios.text_forms import plural

    yield f"{verdict.validity.value}: {plural(verdict.calls, 'operation')}, {plural(len(verdict.findings), 'finding')}"
    by_name: dict[tuple[str, str | None], list[JudgedFinding]] = {}
    for finding in verdict.findings:
        by_name.setdefault((finding.name, finding.allowed), []).append(finding)
    shown = [finding for findings in by_name.values() for finding in findings[:SHOWN_MAX]]
    ops = _named_lines(history, {index for finding in shown for index in finding.ops[:SHOWN_MAX]})
    for (name, allowed), findings in by_name.items():
        yield ""
        yield f"{name} ({len(findings):,}): {FINDING_HELP[FindingKind(name)]}"
        yield f"  {'breaks a promise' if allowed is None else f'permitted: {allowed}'}"
        for finding in findings[:SHOWN_MAX]:
            yield from _finding_lines(finding, ops)
        if len(findings) > SHOWN_MAX:
            yield f"  ... and {len(findings) - SHOWN_MAX:,} more (--json has all)"
    if verdict.unknown:
        yield ""
        yield "not judged:"
        yield from (f"  {reason}" for reason in verdict.unknown)


def _finding_lines(finding: JudgedFinding, ops: dict[int, list[str]]) -> Iterator[str]:
    where = f"{finding.key}: " if finding.key else ""
    values = f"{_values(finding.values)}: " if finding.values else ""
    yield f"  {where}{values}{finding.detail}"
    for index in finding.ops[:SHOWN_MAX]:
        yield from (f"    {line}" for line in ops.get(index, ()))


def _values(values: Sequence[object]) -> str:
    text = ", ".join(map(str, values[:SHOWN_MAX]))
    return f"{text}, ..." if len(values) > SHOWN_MAX else text


def _named_lines(history: Path, indices: set[int]) -> dict[int, list[str]]:
    """Return the lines of operations by their `i`: the file is read again, because a verdict keeps no operations."""
    from broker_scenarios.histories.judge import numbered

    found: dict[int, list[str]] = {}
    if indices:
        for _, op in numbered(history):
            if op.index in indices:
                found.setdefault(op.index, []).append(_line(op))
    return found


def _line(op: Op) -> str:
    import json

    from broker_scenarios.operations import op_to_json

    line = json.dumps(op_to_json(op))
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 3]}..."
