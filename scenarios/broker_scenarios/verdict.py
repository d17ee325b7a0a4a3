"""The verdict of a run: valid, broken or unknown, with the counts and the reasons behind it.

Findings minus allowances: a finding that the configuration does not permit breaks the run. A run in which a check
crashed, no record was acknowledged, or the evidence is incomplete is unknown: absence of evidence is no validity.
Broken takes precedence over unknown, as in Jepsen's merge of verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from broker_scenarios.checks.partition_check import check_all
from broker_scenarios.explanations import Explainer
from broker_scenarios.findings import (
    FINDING_HELP,
    Cause,
    CheckResult,
    Finding,
    FindingKind,
    Outcome,
    RecordResult,
)
from broker_scenarios.garbage import without_collections
from broker_scenarios.history import HistoryEvent, LogRecord, TruncatedRecord, join_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_scenarios.journal_view import JournalView
    from broker_scenarios.operations import Value
    from broker_scenarios.promises import ClientPromises, Promises

__all__ = [
    "COUNT_NAMES",
    "CheckEngine",
    "Counts",
    "DirectEngine",
    "FindingGroup",
    "History",
    "Judged",
    "JudgedKind",
    "Logs",
    "RunVerdict",
    "Validity",
    "check_run",
]

History: TypeAlias = list[HistoryEvent] | Path
"""A history in memory, or the Parquet file or folder that holds it."""
Logs: TypeAlias = Sequence[LogRecord] | Path
"""The records of the logs and those that replicas have cut off, in memory or as Parquet."""
Judged: TypeAlias = tuple[Finding, str | None]
"""A finding with the reason that permits it; None if it breaks a promise."""

_LOSSES: Final = (FindingKind.LOST_WRITE, FindingKind.SET_LOSS)
COUNT_NAMES: Final = ("acked", "stored", "lost", "duplicated", "reordered", "failed", "unknown")


class Validity(StrEnum):
    """The three values of a verdict."""

    VALID = "valid"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(slots=True, kw_only=True)
class Counts:
    """The number of records per outcome. `stored` counts values, not copies; lost records are acknowledged ones."""

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
    """One anomaly: how often it was found, how often that is permitted and why, and how often it breaks a promise."""

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
        """The anomaly in a few words."""
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
    """The result of check_run."""

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
    inconclusive: list[str]
    """The reasons for which it is unknown if nothing breaks a promise."""
    records: list[RecordResult]
    promises: Promises | ClientPromises
    start_us: int
    end_us: int

    def found(self, kind: FindingKind | str) -> int:
        """How often an anomaly was found."""
        return next(each.found for each in self.judged if each.kind == kind)

    def findings_of(self, kind: FindingKind) -> list[Finding]:
        """The findings of one kind, in the order of partitions and sends."""
        return [finding for finding in self.findings if finding.kind is kind]

    def add(self, found: Sequence[Judged], crashes: Sequence[str]) -> None:
        """Add what further checks found, and those of them that crashed."""
        kinds = {each.kind: each for each in self.judged}
        for finding, reason in found:
            _tally(kinds[finding.kind], reason)
        self.groups = _ordered([*self.groups, *_grouped(found)])
        self.crashes += crashes
        self.inconclusive += crashes
        self.validity, self.reasons = _merge(self.judged, self.inconclusive)


class CheckEngine(Protocol):
    """Calls check_partition for every partition: in this process, or on Spark."""

    @property
    def name(self) -> str:
        """The engine's name, for reports."""

    def check(self, history: History, logs: Logs) -> CheckResult:
        """Return the results of all partitions, in any order."""


class DirectEngine:
    """Checks in this process."""

    name = "direct"

    def check(self, history: History, logs: Logs) -> CheckResult:
        """Check partition after partition."""
        with without_collections():
            if isinstance(logs, Path):
                from broker_scenarios.arrow.result_table import read_logs

                logs = read_logs(logs)
            if isinstance(history, Path):
                from broker_scenarios.arrow.history_table import read_history

                history = read_history(history)
            return check_all(history, logs)


def check_run(
    *,
    history: History,
    stored: Logs | None,
    truncated: Sequence[TruncatedRecord] = (),
    journal: JournalView | None = None,
    promises: Promises | ClientPromises,
    engine: CheckEngine | None = None,
    caveats: Sequence[str] = (),
    log_starts: Mapping[tuple[str, int], int] | None = None,
    was_compacted: Callable[[Finding], bool] | None = None,
    uncommitted: Mapping[Value, str] | None = None,
    has_other_successes: bool = False,
) -> RunVerdict:
    """Judge a run: its history against the logs and the promises.

    Without `stored` there is no truth, and the verdict is unknown; a file of it has the truncated records as well.
    `caveats` are further reasons for that verdict (a journal that dropped events, a partition without a leader at the
    end). `log_starts` and `was_compacted` show which records retention and compaction have removed. `uncommitted` has
    the state of each record in the logs that is of an aborted or open transaction. `has_other_successes`: a call beside
    sends has succeeded, such as a poll, so that a run without an acknowledged record has tested something as well.
    """
    inconclusive = list(caveats)
    if stored is None:
        inconclusive.append("the logs could not be read: no verdict is possible")
        result = CheckResult()
    else:
        logs = stored if isinstance(stored, Path) else join_logs(stored, truncated)
        result = (engine or DirectEngine()).check(history, logs)
        result.sort()
    start_us, end_us = _span(result.records)
    explainer = Explainer(
        journal=journal,
        truncated=truncated,
        acks_of=promises.acks_of,
        start_us=start_us,
        log_starts=log_starts,
        was_compacted=was_compacted,
        uncommitted=uncommitted,
    )
    explainer.explain_all(result.findings)
    crashes = [f"check {each.kind} crashed on {each.topic}-{each.partition}: {each.detail}" for each in result.crashes]
    partitions = _count(result.records)
    counts = _sum(partitions.values())
    judged, groups = _judge(result.findings, promises)
    if stored is not None and counts.acked == 0 and not has_other_successes:
        inconclusive.append("no record was acknowledged: nothing was tested")
    inconclusive = [*crashes, *inconclusive]
    validity, reasons = _merge(judged, inconclusive)
    return RunVerdict(
        validity=validity,
        reasons=reasons,
        counts=counts,
        partitions=partitions,
        judged=judged,
        groups=groups,
        findings=result.findings,
        crashes=crashes,
        inconclusive=inconclusive,
        records=result.records,
        promises=promises,
        start_us=start_us,
        end_us=end_us,
    )


def _span(records: Sequence[RecordResult]) -> tuple[int, int]:
    start_us = min((record.invoke_us for record in records), default=0)
    return start_us, max((max(record.invoke_us, record.complete_us) for record in records), default=0)


def _count(records: Iterable[RecordResult]) -> dict[tuple[str, int], Counts]:
    partitions: dict[tuple[str, int], Counts] = {}
    for record in records:
        counts = partitions.setdefault((record.topic, record.partition), Counts())
        count = record.count
        counts.sent += count
        counts.acked += count * (record.outcome is Outcome.ACKED)
        counts.failed += count * (record.outcome is Outcome.FAILED)
        counts.unknown += count * (record.outcome is Outcome.UNKNOWN)
        counts.stored += count * (record.copies > 0)
        counts.lost += count * record.lost
        counts.duplicated += count * record.duplicated
        counts.reordered += count * record.reordered
    return partitions


def _sum(parts: Iterable[Counts]) -> Counts:
    total = Counts()
    for part in parts:
        for name, count in part.as_dict().items():
            setattr(total, name, getattr(total, name) + count)
    return total


def _judge(findings: list[Finding], promises: Promises | ClientPromises) -> tuple[list[JudgedKind], list[FindingGroup]]:
    judged = {kind: JudgedKind(kind=kind) for kind in FindingKind}
    found: list[Judged] = []
    for finding in findings:
        allowance = promises.allowance_for(finding)
        reason = None if allowance is None else allowance.reason
        _tally(judged[finding.kind], reason)
        found.append((finding, reason))
    return list(judged.values()), _ordered(_grouped(found))


def _grouped(found: Iterable[Judged]) -> Iterable[FindingGroup]:
    groups: dict[tuple[object, ...], FindingGroup] = {}
    for finding, reason in found:
        _, _, why = finding.detail.partition(": ") if finding.kind in _LOSSES else ("", "", "")
        key = (finding.kind, finding.topic, finding.partition, finding.cause, reason, why)
        group = groups.get(key)
        if group is None:
            group = groups[key] = FindingGroup(
                kind=finding.kind,
                topic=finding.topic,
                partition=finding.partition,
                cause=finding.cause,
                permitted_because=reason,
                why=why,
            )
        _add(group, finding)
    for group in groups.values():
        _cut(group)
    return groups.values()


def _ordered(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    kinds = list(FindingKind)
    return sorted(
        groups,
        key=lambda each: (each.permitted_because is not None, kinds.index(each.kind), -each.count, each.partition),
    )


def _tally(judged: JudgedKind, reason: str | None) -> None:
    judged.found += 1
    if reason is not None:
        judged.permitted += 1
        if reason not in judged.reasons:
            judged.reasons.append(reason)


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


def _merge(judged: list[JudgedKind], inconclusive: list[str]) -> tuple[Validity, list[str]]:
    broken = [
        f"{each.kind.value}: {each.broken} of {each.found} break a promise ({each.meaning})"
        for each in judged
        if each.broken
    ]
    if broken:
        return Validity.BROKEN, [*broken, *inconclusive]
    if inconclusive:
        return Validity.UNKNOWN, inconclusive
    return Validity.VALID, ["nothing was found that the configuration does not permit"]
