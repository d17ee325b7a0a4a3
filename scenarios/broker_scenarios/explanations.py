"""The causes of lost records: each loss joined with the truncations and elections of its partition.

If a replica truncated the record, the explanation names the broker, its leader and leader epoch, and the range. If no
replica truncated it but a new leader was elected after the acknowledgement, the record stayed in the log of a broker
that did not come back. If the next leader lost it with its power, the explanation names that. Under acks=0 no broker
confirmed it. Records of a deleted topic are gone with it. A record that the log holds in a transaction which was not
committed is not lost from the log, but no consumer with read_committed reads it. Any other loss is unexplained, and no
configuration permits that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_scenarios.history import TruncatedRecord
    from broker_scenarios.journal_view import Election, JournalView, LostTail, PartitionEvents, Truncation
    from broker_scenarios.operations import Value

__all__ = ["Explainer"]

_Cut = tuple[int, int, int, int]
_UNCOMMITTED_TEXTS: Final = {
    "open": "the log holds it in a transaction that no marker has ended",
    "aborted": "the log holds it in an aborted transaction",
}


class Explainer:
    """Fills in cause and detail of losses. Times in texts count from `start_us`."""

    def __init__(
        self,
        *,
        journal: JournalView | None,
        truncated: Iterable[TruncatedRecord],
        acks_of: Callable[[Finding], int],
        start_us: int,
        log_starts: Mapping[tuple[str, int], int] | None = None,
        was_compacted: Callable[[Finding], bool] | None = None,
        uncommitted: Mapping[Value, str] | None = None,
    ) -> None:
        self._journal = journal
        self._log_starts = log_starts or {}
        self._was_compacted = was_compacted
        self._uncommitted = uncommitted or {}
        self._acks_of = acks_of
        self._start_us = start_us
        self._deleted: set[Value] = set()
        """The values that are lost because their topic was deleted."""
        self._cuts: dict[tuple[str, int, Value], _Cut] = {}
        for each in truncated:
            cut = each.offset, each.broker, each.leader_epoch, each.time_us
            self._cuts.setdefault((each.topic, each.partition, each.value_id), cut)

    def explain_all(self, findings: Sequence[Finding]) -> None:
        """Explain losses first: a conflict of offsets may follow from one."""
        for finding in sorted(findings, key=lambda each: each.kind is FindingKind.INCONSISTENT_OFFSETS):
            self.explain(finding)

    def explain(self, finding: Finding) -> None:
        """Set cause and detail of a loss, or of the offset conflict behind it; other findings need no explanation."""
        if finding.kind in (FindingKind.LOST_WRITE, FindingKind.SET_LOSS):
            finding.cause, why = self._loss(finding)
            finding.detail = f"{finding.detail}: {why}"
            if finding.cause is Cause.TOPIC_DELETED:
                self._deleted.add(finding.value_id)
        elif finding.kind is FindingKind.INCONSISTENT_OFFSETS and self._follows_loss_of_power(finding):
            finding.cause = Cause.POWER_LOST
        elif finding.kind is FindingKind.INCONSISTENT_OFFSETS and finding.other_value_id in self._deleted:
            finding.cause = Cause.TOPIC_DELETED
        elif finding.kind is FindingKind.INCONSISTENT_OFFSETS and finding.cause is Cause.UNEXPLAINED:
            finding.cause, _ = self._loss(finding)

    def _lost_tails(self, finding: Finding) -> list[LostTail]:
        """Return the losses of power that removed the record at the finding's offset for good."""
        if self._journal is None:
            return []
        events = self._journal.of_partition(finding.topic, finding.partition)
        return [each for each in _tails_that_led(events) if each.from_offset <= finding.ack_offset < each.to_offset]

    def _follows_loss_of_power(self, finding: Finding) -> bool:
        """Return True if the offset was assigned again after a loss of power had removed its first record."""
        return any(each.time_us <= finding.complete_us for each in self._lost_tails(finding))

    def _loss(self, finding: Finding) -> tuple[Cause, str]:
        state = self._uncommitted.get(finding.value_id)
        if state is not None:
            return Cause.UNCOMMITTED, _UNCOMMITTED_TEXTS[state]
        deleted_us = self._deletion_us(finding)
        if deleted_us is not None:
            return Cause.TOPIC_DELETED, f"its topic was deleted, {self._clock(deleted_us)}"
        lost = next((each for each in self._lost_tails(finding) if each.time_us >= finding.complete_us), None)
        if lost is not None:
            return Cause.POWER_LOST, self._power_text(lost)
        cut = self._cuts.get((finding.topic, finding.partition, finding.value_id))
        if cut is not None:
            return Cause.TRUNCATED, self._cut_text(finding, *cut)
        log_start = self._log_starts.get((finding.topic, finding.partition), 0)
        if 0 <= finding.ack_offset < log_start:
            return Cause.RETENTION, f"the log begins at {log_start}: what was before is deleted"
        if self._was_compacted is not None and self._was_compacted(finding):
            return Cause.COMPACTION, "the log has a later record of the same key"
        if self._journal is None:
            return Cause.NOT_RECORDED, "no journal was kept of this run"
        events = self._journal.of_partition(finding.topic, finding.partition)
        truncation = _truncation_at(events, finding.ack_offset, after_us=finding.complete_us)
        if truncation is not None:
            return Cause.TRUNCATED, self._range_text(truncation)
        if self._acks_of(finding) == 0:
            return Cause.NEVER_CONFIRMED, "acks=0, no broker confirmed it and no log ever held it"
        change = _change_that_left_behind(events, finding.complete_us)
        if change is not None:
            election, previous = change
            why = (
                f"broker {election.leader} became leader at epoch {election.leader_epoch}, "
                f"{self._clock(election.time_us)}, without it; broker {previous} never gave it back"
            )
            return Cause.LEADER_REPLACED, why
        return Cause.UNEXPLAINED, "no truncation and no election explains it"

    def _deletion_us(self, finding: Finding) -> int | None:
        """The time of the deletion that took the record along: a leader may acknowledge until it has learnt of it."""
        if self._journal is None:
            return None
        deletions = self._journal.deletions.get(finding.topic, ())
        return next((at_us for at_us, again_us in deletions if finding.complete_us <= again_us), None)

    def _cut_text(self, finding: Finding, offset: int, broker: int, epoch: int, time_us: int) -> str:
        if self._journal is not None:
            events = self._journal.of_partition(finding.topic, finding.partition)
            for each in events.truncations:
                if each.broker == broker and each.leader_epoch == epoch and each.from_offset <= offset < each.to_offset:
                    return self._range_text(each)
        return f"broker {broker} truncated offset {offset} at leader epoch {epoch}, {self._clock(time_us)}"

    def _power_text(self, lost: LostTail) -> str:
        return (
            f"broker {lost.broker} lost its power and came back, {self._clock(lost.time_us)}, without offsets "
            f"{lost.from_offset} to {lost.to_offset - 1}: it had acknowledged them, and not flushed them to its disk"
        )

    def _range_text(self, truncation: Truncation) -> str:
        return (
            f"broker {truncation.broker} rejoined behind leader {truncation.leader} at leader epoch "
            f"{truncation.leader_epoch}, {self._clock(truncation.time_us)}, and truncated offsets "
            f"{truncation.from_offset} to {truncation.to_offset - 1}"
        )

    def _clock(self, time_us: int) -> str:
        return f"{(time_us - self._start_us) / 1e6:.3f} s"


def _truncation_at(events: PartitionEvents, offset: int, *, after_us: int) -> Truncation | None:
    for each in events.truncations:
        if each.time_us >= after_us and each.from_offset <= offset < each.to_offset:
            return each
    return None


def _tails_that_led(events: PartitionEvents) -> list[LostTail]:
    """Return the losses of power of brokers that became leader without the lost records.

    A replica that still had the records would have become leader and restored them.
    """
    return [lost for lost in events.lost_tails if _leader_after(events, lost.time_us) == lost.broker]


def _leader_after(events: PartitionEvents, time_us: int) -> int:
    """Return the next elected leader, else the current one."""
    before = -1
    for election in events.elections:
        if election.leader >= 0:
            if election.time_us >= time_us:
                return election.leader
            before = election.leader
    return before


def _change_that_left_behind(events: PartitionEvents, acked_us: int) -> tuple[Election, int] | None:
    """Return the first change of leader after the acknowledgement, else the last one before, and the leader before it.

    An isolated leader continues to acknowledge, hence the change before. A period without leader is skipped.
    """
    changes: list[tuple[Election, int]] = []
    leader = -1
    for election in events.elections:
        before = election.previous_leader if leader < 0 else leader
        if election.leader >= 0:
            if before >= 0 and before != election.leader:
                changes.append((election, before))
            leader = election.leader
        else:
            leader = before
    later = next((change for change in changes if change[0].time_us >= acked_us), None)
    return later or (changes[-1] if changes else None)
