"""The replicated log of one voter, and its other persistent state. Mirrors KafkaMetadataLog and QuorumStateStore.

Batches are made once, by a leader, and then shared by reference; every batch is on disk when it is in the log. The
content of a batch is opaque here, except for the control record at the start of every epoch.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_sim.log.leader_epoch_cache import LeaderEpochCache
from protocol_specs.schemas.quorum_state_data import QuorumStateData, Voter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["OffsetAndEpoch", "RaftBatch", "RaftLog", "RaftRecords", "RaftSnapshot", "RaftStorage"]

NO_EPOCH: Final = 0
"""The epoch of an empty log."""


class OffsetAndEpoch(NamedTuple):
    """The end of a log, or of an epoch in it."""

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftBatch:
    """Records that are committed together or not at all. A control batch holds a LeaderChangeMessage.

    `control_ms` is when a control batch was made, None for any other.
    """

    base_offset: int
    last_offset: int
    epoch: int
    content: Any
    control_ms: int | None = None

    @property
    def is_control(self) -> bool:
        """True for a control batch of the quorum."""
        return self.control_ms is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftSnapshot:
    """Replaces all records before `id.offset`, whose last record is of `id.epoch`; `encode` returns its bytes."""

    id: OffsetAndEpoch
    encode: Callable[[], bytes]


class RaftRecords(list[bytes]):
    """A fetch's records: the leader's own batches, by reference."""

    def __init__(self, batches: list[RaftBatch]) -> None:
        super().__init__()
        self.batches = batches


class RaftLog:
    """Batches without gaps, from offset 0 or from the end of a snapshot on."""

    __slots__ = ("_batches", "_ends", "_epochs", "snapshot", "start_offset")

    def __init__(self) -> None:
        self.start_offset = 0
        self.snapshot: RaftSnapshot | None = None
        self._batches: list[RaftBatch] = []
        self._ends: list[int] = []
        self._epochs = LeaderEpochCache()

    @property
    def end_offset(self) -> int:
        """The offset after the last record."""
        return self._ends[-1] if self._ends else self.start_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, 0 in an empty log."""
        return self._epochs.latest_epoch or NO_EPOCH

    @property
    def last_epoch_start(self) -> int:
        """The first offset of that epoch."""
        entries = self._epochs.entries
        return entries[-1].start_offset if entries else 0

    @property
    def end(self) -> OffsetAndEpoch:
        """Both, as votes compare them: epoch first."""
        return OffsetAndEpoch(self.end_offset, self.last_epoch)

    @property
    def batches(self) -> tuple[RaftBatch, ...]:
        """All batches, in order."""
        return tuple(self._batches)

    def append(self, batch: RaftBatch) -> None:
        """Add the next batch."""
        assert batch.base_offset == self.end_offset, "a log has no gaps"
        assert batch.epoch >= self.last_epoch, "epochs never go back in a log"
        self._epochs.assign(batch.epoch, batch.base_offset)
        self._batches.append(batch)
        self._ends.append(batch.last_offset + 1)

    def read(self, offset: int, *, until: int | None = None, limit: int | None = None) -> list[RaftBatch]:
        """The batches from the one at `offset` on, those that end by `until`, `limit` at most."""
        first = bisect_right(self._ends, offset)
        last = len(self._batches) if until is None else bisect_right(self._ends, until)
        if limit is not None:
            last = min(last, first + limit)
        return self._batches[first:last]

    def snapshot_for(self, offset: int) -> RaftSnapshot | None:
        """Return the snapshot that a log ending at `offset` must load first; None when it can continue here."""
        return self.snapshot if offset < self.start_offset or offset == 0 else None

    def keep_snapshot(self, snapshot: RaftSnapshot, *, start_offset: int) -> None:
        """Remove the records before `start_offset`, which the snapshot replaces."""
        assert start_offset <= snapshot.id.offset, "what is in no snapshot stays"
        self.snapshot = snapshot
        gone = bisect_right(self._ends, start_offset)
        if gone:
            self.start_offset = self._ends[gone - 1]
            del self._batches[:gone]
            del self._ends[:gone]

    def begin_with(self, snapshot: RaftSnapshot) -> None:
        """Replace the log with a snapshot. Mirrors KafkaMetadataLog.truncateToLatestSnapshot."""
        self._batches.clear()
        self._ends.clear()
        self._epochs = LeaderEpochCache()
        self._epochs.assign(snapshot.id.epoch, snapshot.id.offset)
        self.snapshot, self.start_offset = snapshot, snapshot.id.offset

    def divergence(self, offset: int, epoch: int) -> OffsetAndEpoch | None:
        """Return None if a log that ends as requested is part of this one, else the end of its last common epoch."""
        if offset == 0 and epoch == NO_EPOCH:
            return None
        end = self._end_of(epoch)
        return end if end.epoch != epoch or end.offset < offset else None

    def truncate_to(self, end: OffsetAndEpoch) -> int:
        """Truncate to the point that a leader's `end` of an epoch allows; return the new end offset."""
        if end.epoch == NO_EPOCH:
            offset = min(end.offset, self.end_offset)
        else:
            own = self._end_of(end.epoch)
            offset = min(own.offset, end.offset) if own.epoch == end.epoch else own.offset
        first = bisect_right(self._ends, offset)
        del self._batches[first:]
        del self._ends[first:]
        self._epochs.truncate_from_end(self.end_offset)
        return self.end_offset

    def become(self, batches: Sequence[RaftBatch]) -> None:
        """Take over this committed log; the batches that both have stay the same objects."""
        common = 0
        for own, agreed in zip(self._batches, batches, strict=False):
            if (own.base_offset, own.last_offset, own.epoch) != (agreed.base_offset, agreed.last_offset, agreed.epoch):
                break
            common += 1
        if common < len(self._batches):
            last = self._batches[common - 1] if common else None
            offset, epoch = (0, NO_EPOCH) if last is None else (last.last_offset + 1, last.epoch)
            self.truncate_to(OffsetAndEpoch(offset, epoch))
        for batch in batches[common:]:
            self.append(batch)

    def _end_of(self, epoch: int) -> OffsetAndEpoch:
        found = self._epochs.end_offset_for(epoch, self.end_offset)
        return OffsetAndEpoch(found.end_offset, found.epoch) if found.epoch >= 0 else self.end


@dataclass(slots=True, kw_only=True)
class RaftStorage:
    """The persistent state: the log, and quorum-state with the vote and the leader."""

    voters: tuple[int, ...]
    directory_id: bytes | None = None
    """The id of the directory, where there is one."""
    log: RaftLog = field(default_factory=RaftLog)
    quorum_state: QuorumStateData = field(default_factory=lambda: QuorumStateData(leader_epoch=NO_EPOCH))

    def write(self, *, epoch: int, leader_id: int, voted_id: int) -> None:
        """Keep the election state; ids are -1 when there is none."""
        self.quorum_state = QuorumStateData(
            leader_id=leader_id,
            leader_epoch=epoch,
            voted_id=voted_id,
            current_voters=[Voter(voter_id=voter) for voter in self.voters],
        )
