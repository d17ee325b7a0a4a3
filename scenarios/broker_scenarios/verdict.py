"""The verdict of a run: valid, broken or unknown, with the counts and the reasons behind it.

Findings minus allowances: what the configuration does not permit breaks the run. A run in which a check
crashed, nothing was acknowledged, or the truth is not whole is unknown: absence of evidence is no validity.
Broken goes before unknown, as in Jepsen's merge of verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.checks.partition_check import check_all
from broker_scenarios.explanations import Explainer
from broker_scenarios.findings import FINDING_HELP, RESULT_SCHEMA, Cause, Finding, FindingKind, Outcome, RowSort
from broker_scenarios.history import join_logs, read_history
from broker_scenarios.journal_view import JournalRow, JournalView

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_scenarios.promises import Allowance, Promises

__all__ = [
    "COUNT_NAMES",
    "CheckEngine",
    "Counts",
    "DirectEngine",
    "FindingGroup",
    "History",
    "JudgedKind",
    "RunVerdict",
    "Validity",
    "check_run",
]

History: TypeAlias = "pa.Table | Path"
"""A history in memory, or the Parquet file or folder that holds it."""

COUNT_NAMES: Final = ("acked", "stored", "lost", "duplicated", "reordered", "failed", "unknown")


class Validity(StrEnum):
    """The three values of a verdict."""

    VALID = "valid"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(slots=True, kw_only=True)
class Counts:
    """Records by what became of them. `stored` counts values, not copies; lost ones are acked ones."""

    sent: int = 0
    acked: int = 0
    stored: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    failed: int = 0
    unknown: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counts under their names."""
        return {name: getattr(self, name) for name in ("sent", *COUNT_NAMES)}


@dataclass(slots=True, kw_only=True)
class JudgedKind:
    """One anomaly: how often it was found, how often that is permitted and why, and what breaks the promise."""

    kind: FindingKind
    found: int = 0
    permitted: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        """Findings that nothing permits."""
        return self.found - self.permitted

    @property
    def meaning(self) -> str:
        """What the anomaly is, in a few words."""
        return FINDING_HELP[self.kind]


@dataclass(slots=True, kw_only=True)
class FindingGroup:
    """Findings of one partition with one cause and one explanation, cut to a few examples."""

    kind: FindingKind
    topic: str
    partition: int
    cause: Cause
    permitted_because: str | None
    why: str
    count: int = 0
    first_offset: int = -1
    last_offset: int = -1
    examples: list[Finding] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RunVerdict:
    """What check_run answers."""

    validity: Validity
    reasons: list[str]
    counts: Counts
    partitions: dict[tuple[str, int], Counts]
    judged: list[JudgedKind]
    """Every kind of anomaly, found or not, in the order of FindingKind."""
    groups: list[FindingGroup]
    """The findings, grouped; what breaks a promise first, then by count."""
    findings: list[Finding]
    crashes: list[str]
    records: pa.Table
    """One row a record (RESULT_SCHEMA, sort `record`)."""
    promises: Promises
    start_us: int
    end_us: int

    def found(self, kind: FindingKind | str) -> int:
        """How often an anomaly was found."""
        return next(each.found for each in self.judged if each.kind == kind)

    def findings_of(self, kind: FindingKind) -> list[Finding]:
        """The findings of one kind, in the order of partitions and sends."""
        return [finding for finding in self.findings if finding.kind is kind]


class CheckEngine(Protocol):
    """Who calls check_partition for every partition: this process, or Spark."""

    @property
    def name(self) -> str:
        """The engine's name, for reports."""

    def check(self, history: History, logs: pa.Table) -> pa.Table:
        """Return the rows of RESULT_SCHEMA, in any order."""


class DirectEngine:
    """Checks in this process."""

    name = "direct"

    def check(self, history: History, logs: pa.Table) -> pa.Table:
        """Check partition after partition."""
        return check_all(read_history(history) if isinstance(history, Path) else history, logs)


def check_run(
    *,
    history: History,
    stored: pa.Table | None,
    truncated: pa.Table | None = None,
    journal: Iterable[JournalRow] | JournalView | None = None,
    promises: Promises,
    engine: CheckEngine | None = None,
    doubts: Sequence[str] = (),
) -> RunVerdict:
    """Judge a run: its history against the logs (STORED_SCHEMA, TRUNCATED_SCHEMA) and the promises.

    Without `stored` there is no truth, and the verdict is unknown. `doubts` are further reasons to know
    nothing (a journal that dropped events, a partition without a leader at the end).
    """
    table = read_history(history) if isinstance(history, Path) else history
    start_us, end_us = _span(table)
    view = journal if isinstance(journal, JournalView) or journal is None else JournalView.of(journal)
    unsure = list(doubts)
    if stored is None:
        unsure.append("the logs could not be read back: there is no truth to judge by")
        result = None
    else:
        result = _ordered((engine or DirectEngine()).check(history, join_logs(stored, truncated)))
    records = _rows_of(result, RowSort.RECORD)
    findings = _findings(_rows_of(result, RowSort.FINDING))
    explainer = Explainer(journal=view, truncated=truncated, acks=promises.acks, start_us=start_us)
    for finding in findings:
        explainer.explain(finding)
    crashes = [
        f"check {row['kind']} crashed on {row['topic']}-{row['partition']}: {row['detail']}"
        for row in _rows_of(result, RowSort.CRASH).to_pylist()
    ]
    partitions = _count(records)
    counts = _sum(partitions.values())
    judged, groups = _judge(findings, promises)
    if stored is not None and counts.acked == 0:
        unsure.append("no record was acknowledged: nothing was tested")
    validity, reasons = _merge(judged, [*crashes, *unsure])
    return RunVerdict(
        validity=validity,
        reasons=reasons,
        counts=counts,
        partitions=partitions,
        judged=judged,
        groups=groups,
        findings=findings,
        crashes=crashes,
        records=records,
        promises=promises,
        start_us=start_us,
        end_us=end_us,
    )


def _span(history: pa.Table) -> tuple[int, int]:
    if history.num_rows == 0:
        return 0, 0
    ends = pc.min_max(history.column("time_us")).as_py()
    return ends["min"], ends["max"]


def _ordered(result: pa.Table) -> pa.Table:
    names = ("sort", "topic", "partition", "kind", "process", "index", "value_id", "offset")
    return result.sort_by([(name, "ascending") for name in names])


def _rows_of(result: pa.Table | None, sort: RowSort) -> pa.Table:
    if result is None:
        return RESULT_SCHEMA.empty_table()
    return result.filter(pc.equal(result.column("sort"), sort.value))


def _findings(rows: pa.Table) -> list[Finding]:
    return [
        Finding(
            kind=FindingKind(row["kind"]),
            topic=row["topic"],
            partition=row["partition"],
            value_id=row["value_id"],
            process=row["process"],
            producer_id=row["producer_id"],
            index=row["index"],
            ack_offset=row["ack_offset"],
            offset=row["offset"],
            complete_us=row["complete_us"],
            other_value_id=row["other_value_id"],
            detail=row["detail"],
            cause=Cause(row["cause"]),
        )
        for row in rows.to_pylist()
    ]


def _count(records: pa.Table) -> dict[tuple[str, int], Counts]:
    partitions: dict[tuple[str, int], Counts] = {}
    names = ("topic", "partition", "outcome", "copies", "lost", "duplicated", "reordered")
    rows = zip(*(records.column(name).to_pylist() for name in names), strict=True)
    for topic, partition, outcome, copies, lost, duplicated, reordered in rows:
        counts = partitions.setdefault((topic, partition), Counts())
        counts.sent += 1
        counts.acked += outcome == Outcome.ACKED
        counts.failed += outcome == Outcome.FAILED
        counts.unknown += outcome == Outcome.UNKNOWN
        counts.stored += copies > 0
        counts.lost += lost
        counts.duplicated += duplicated
        counts.reordered += reordered
    return partitions


def _sum(parts: Iterable[Counts]) -> Counts:
    total = Counts()
    for part in parts:
        for name, count in part.as_dict().items():
            setattr(total, name, getattr(total, name) + count)
    return total


def _judge(findings: list[Finding], promises: Promises) -> tuple[list[JudgedKind], list[FindingGroup]]:
    judged = {kind: JudgedKind(kind=kind) for kind in FindingKind}
    groups: dict[tuple[object, ...], FindingGroup] = {}
    for finding in findings:
        allowance = promises.allowance_for(finding)
        _tally(judged[finding.kind], allowance)
        _, _, why = finding.detail.partition(": ") if finding.kind is FindingKind.LOST_WRITE else ("", "", "")
        key = (finding.kind, finding.topic, finding.partition, finding.cause, allowance is None, why)
        group = groups.get(key)
        if group is None:
            group = groups[key] = FindingGroup(
                kind=finding.kind,
                topic=finding.topic,
                partition=finding.partition,
                cause=finding.cause,
                permitted_because=None if allowance is None else allowance.reason,
                why=why,
            )
        _add(group, finding)
    for group in groups.values():
        _cut(group)
    kinds = list(FindingKind)
    ordered = sorted(
        groups.values(),
        key=lambda each: (each.permitted_because is not None, kinds.index(each.kind), -each.count, each.partition),
    )
    return list(judged.values()), ordered


def _tally(judged: JudgedKind, allowance: Allowance | None) -> None:
    judged.found += 1
    if allowance is not None:
        judged.permitted += 1
        if allowance.reason not in judged.reasons:
            judged.reasons.append(allowance.reason)


def _add(group: FindingGroup, finding: Finding) -> None:
    offset = finding.ack_offset if finding.ack_offset >= 0 else finding.offset
    group.count += 1
    if offset >= 0:
        group.first_offset = offset if group.first_offset < 0 else min(group.first_offset, offset)
        group.last_offset = max(group.last_offset, offset)
    group.examples.append(finding)


def _cut(group: FindingGroup) -> None:
    """Leave the first, the middle and the last example by offset: they show the range."""
    group.examples.sort(key=lambda each: (each.ack_offset, each.offset, each.value_id))
    last = len(group.examples) - 1
    group.examples = [group.examples[at] for at in dict.fromkeys((0, last // 2, last))]


def _merge(judged: list[JudgedKind], unsure: list[str]) -> tuple[Validity, list[str]]:
    broken = [
        f"{each.kind.value}: {each.broken} of {each.found} break a promise ({each.meaning})"
        for each in judged
        if each.broken
    ]
    if broken:
        return Validity.BROKEN, [*broken, *unsure]
    if unsure:
        return Validity.UNKNOWN, unsure
    return Validity.VALID, ["nothing was found that the configuration does not permit"]
