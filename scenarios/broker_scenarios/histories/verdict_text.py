"""The text of a verdict on a history, as `broker-sim check` prints it and a LedgerViolation has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import FINDING_HELP, FindingKind
from broker_scenarios.histories.judge import is_table
from broker_scenarios.operations import numbered_operations, op_to_json
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from broker_scenarios.histories.history_verdict import HistoryVerdict, JudgedFinding
    from broker_scenarios.operations import Op

__all__ = ["SHOWN_MAX", "verdict_lines"]

SHOWN_MAX: Final = 20
"""The findings of one name that the text form shows, and the operations of one finding."""
LINE_MAX: Final = 160


def _nothing(_: JudgedFinding) -> Iterable[str]:
    return ()


def verdict_lines(
    verdict: HistoryVerdict,
    history: Path | Iterable[Op],
    evidence_of: Callable[[JudgedFinding], Iterable[str]] = _nothing,
) -> Iterator[str]:
    """Return the lines of a verdict; `evidence_of` returns further lines for the finding above them."""
    yield f"{verdict.validity.value}: {plural(verdict.calls, 'operation')}, {plural(len(verdict.findings), 'finding')}"
    by_name: dict[tuple[str, str | None], list[JudgedFinding]] = {}
    for finding in verdict.findings:
        by_name.setdefault((finding.name, finding.allowed), []).append(finding)
    shown = [finding for findings in by_name.values() for finding in findings[:SHOWN_MAX]]
    ops = _named_lines(history, {index: finding.key for finding in shown for index in finding.ops[:SHOWN_MAX]})
    for (name, allowed), findings in by_name.items():
        yield ""
        yield f"{name} ({len(findings):,}): {FINDING_HELP[FindingKind(name)]}"
        yield f"  {'breaks a promise' if allowed is None else f'permitted: {allowed}'}"
        for finding in findings[:SHOWN_MAX]:
            yield from _finding_lines(finding, ops)
            yield from (f"    {line}" for line in evidence_of(finding))
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


def _named_lines(history: Path | Iterable[Op], key_of: dict[int, str]) -> dict[int, list[str]]:
    """Return the lines of operations by their `i`: the file is read again, because a verdict keeps no operations."""
    found: dict[int, list[str]] = {}
    if key_of:
        for op in _operations(history, key_of):
            if op.index in key_of:
                found.setdefault(op.index, []).append(_line(op))
    return found


def _operations(history: Path | Iterable[Op], key_of: dict[int, str]) -> Iterator[Op]:
    if isinstance(history, Path) and is_table(history):
        # Imported for a table alone: pyarrow is not installed everywhere.
        from broker_scenarios.arrow.send_table import operations_at

        return operations_at(history, key_of)
    return (op for _, op in numbered_operations(history))


def _line(op: Op) -> str:
    line = json.dumps(op_to_json(op))
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 3]}..."
