"""All checks over one topic-partition: one function on Arrow tables, which Spark and a plain run both call.

A check that crashes yields a row that says so, and the other checks go on: it makes the verdict unknown,
never valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import pyarrow as pa

from broker_scenarios.checks.analysis import Analysis, Send, assign_partitions
from broker_scenarios.checks.duplicates import duplicates
from broker_scenarios.checks.failed_but_stored import failed_but_stored, recovered
from broker_scenarios.checks.inconsistent_offsets import inconsistent_offsets
from broker_scenarios.checks.lost_writes import lost_writes
from broker_scenarios.checks.misdelivered import misdelivered
from broker_scenarios.checks.offset_oracle import wrong_offsets
from broker_scenarios.checks.reordering import reordering
from broker_scenarios.checks.unresolved import double_completions, unresolved
from broker_scenarios.findings import RESULT_SCHEMA, Finding, FindingKind, Outcome, RowSort

__all__ = ["CHECKS", "check_all", "check_partition"]

Check = Callable[[Analysis], Iterable[Finding]]

CHECKS: Final[Mapping[str, Check]] = {
    FindingKind.LOST_WRITE.value: lost_writes,
    FindingKind.DUPLICATE.value: duplicates,
    FindingKind.NONMONOTONIC_SEND.value: reordering,
    FindingKind.INCONSISTENT_OFFSETS.value: inconsistent_offsets,
    FindingKind.OFFSET_ORACLE.value: wrong_offsets,
    FindingKind.MISDELIVERED.value: misdelivered,
    FindingKind.FAILED_BUT_STORED.value: failed_but_stored,
    FindingKind.UNRESOLVED.value: unresolved,
    FindingKind.DOUBLE_COMPLETION.value: double_completions,
    FindingKind.RECOVERED.value: recovered,
}

_GROUP: Final = ["topic", "partition"]
_Row = tuple[object, ...]


def check_partition(
    topic: str,
    partition: int,
    history: pa.Table,
    logs: pa.Table,
    checks: Mapping[str, Check] = CHECKS,
) -> pa.Table:
    """Check the events of one partition against its log rows (LOGS_SCHEMA); the result is of RESULT_SCHEMA.

    The history's events carry their partition already (`assign_partitions`).
    """
    findings: list[Finding] = []
    crashes: list[tuple[str, str]] = []
    try:
        analysis = Analysis.of(topic, partition, history, logs)
    except Exception as error:  # noqa: BLE001  (a crashed check is a result: unknown)
        crashes.append(("analysis", _told(error)))
        return _table([_crash_row(topic, partition, *crash) for crash in crashes])
    for name, check in checks.items():
        try:
            found = list(check(analysis))
        except Exception as error:  # noqa: BLE001  (as above; the other checks go on)
            crashes.append((name, _told(error)))
        else:
            findings += found
    rows = _record_rows(analysis, findings)
    rows += [_finding_row(finding) for finding in findings]
    rows += [_crash_row(topic, partition, *crash) for crash in crashes]
    return _table(rows)


def check_all(history: pa.Table, logs: pa.Table, checks: Mapping[str, Check] = CHECKS) -> pa.Table:
    """Check every partition in this process, in the order of their names: what Spark does with applyInArrow."""
    histories = _split(assign_partitions(history, logs))
    held = _split(logs)
    groups = sorted({**histories, **held})
    none_sent, none_held = history.slice(0, 0), logs.slice(0, 0)
    parts = [
        check_partition(*group, histories.get(group, none_sent), held.get(group, none_held), checks) for group in groups
    ]
    return pa.concat_tables(parts) if parts else RESULT_SCHEMA.empty_table()


def _split(rows: pa.Table) -> dict[tuple[str, int], pa.Table]:
    """Cut a table into its topic-partitions, one contiguous slice each."""
    ordered = rows.sort_by([(name, "ascending") for name in _GROUP])
    keys = list(zip(*(ordered.column(name).to_pylist() for name in _GROUP), strict=True))
    starts = [at for at in range(len(keys)) if at == 0 or keys[at] != keys[at - 1]]
    ends = [*starts[1:], len(keys)] if starts else []
    return {keys[start]: ordered.slice(start, end - start) for start, end in zip(starts, ends, strict=True)}


def _record_rows(analysis: Analysis, findings: list[Finding]) -> list[_Row]:
    flagged: dict[FindingKind, dict[int, None]] = {}
    for finding in findings:
        flagged.setdefault(finding.kind, {})[finding.value_id] = None
    lost = flagged.get(FindingKind.LOST_WRITE, {})
    doubled = flagged.get(FindingKind.DUPLICATE, {})
    reordered = flagged.get(FindingKind.NONMONOTONIC_SEND, {})
    sort, topic, partition = RowSort.RECORD.value, analysis.topic, analysis.partition
    rows: list[_Row] = []
    for value_id, sends in analysis.sends_of.items():
        send = sends[0] if len(sends) == 1 else _telling_send(sends)
        offsets = analysis.stored.get(value_id, ())
        rows.append(
            (
                sort, topic, partition, value_id, send.process, send.producer_id, send.index, send.outcome.value,
                send.complete_us, send.ack_offset, offsets[0] if offsets else -1, len(offsets),
                value_id in lost, value_id in doubled, value_id in reordered, None, None, -1, None,
            )
        )  # fmt: skip
    return rows


def _telling_send(sends: list[Send]) -> Send:
    """The send that says most about a value: one acknowledged, else one unknown, else the last failure."""
    for outcome in (Outcome.ACKED, Outcome.UNKNOWN):
        for send in sends:
            if send.outcome is outcome:
                return send
    return sends[-1]


def _finding_row(finding: Finding) -> _Row:
    return (
        RowSort.FINDING.value, finding.topic, finding.partition, finding.value_id, finding.process,
        finding.producer_id, finding.index, None, finding.complete_us, finding.ack_offset, finding.offset, 0,
        False, False, False, finding.kind.value, finding.cause.value, finding.other_value_id, finding.detail,
    )  # fmt: skip


def _crash_row(topic: str, partition: int, check: str, told: str) -> _Row:
    return (
        RowSort.CRASH.value, topic, partition, -1, -1, -1, -1, None, -1, -1, -1, 0,
        False, False, False, check, None, -1, told,
    )  # fmt: skip


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _table(rows: list[_Row]) -> pa.Table:
    """The rows stand in the order of RESULT_SCHEMA's columns."""
    if not rows:
        return RESULT_SCHEMA.empty_table()
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, RESULT_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RESULT_SCHEMA)
