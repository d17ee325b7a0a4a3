"""The metadata log, __cluster_metadata-0: batches of records, the image at their end, snapshots. Mirrors
KafkaMetadataLog as QuorumController and MetadataLoader see it (KIP-500, KIP-630, KIP-835).

Offsets count records; every batch has the epoch of the controller that wrote it. A batch carries its records as
objects and, while it is young, the image after it by reference: its bytes are encoded on access. An image's version is
the offset of its last record.

Without `replicate` the log is alone: appended records are committed. With it the log is one voter's: `append` passes
every batch on, `advance_high_watermark` commits, `append_replicated` and `truncate_to` are for a follower.

NoOpRecords of an idle controller (metadata.max.idle.interval.ms) are counted when the log is read or written, and then
form one batch: an idle cluster costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.metadata.metadata_record_versions import record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION, MetadataRecord
from broker_sim.metadata.metadata_replay import replay
from protocol_specs.schemas.metadata.no_op_record import NoOpRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.message import Message
    from protocol_specs.schemas.leader_change_message import LeaderChangeMessage

__all__ = ["LoggedRecord", "MetadataBatch", "MetadataLog", "MetadataLogLimits", "MetadataSnapshot", "SnapshotId"]

FIRST_LEADER_EPOCH: Final = 1
"""The epoch in which a cluster starts that starts as a whole."""
IMAGES_KEPT: Final = 32
"""The number of last batches that keep their image; for an older one the records are replayed."""
RECORDS_BETWEEN_SNAPSHOTS_MAX: Final = 10_000
"""Used instead of metadata.log.max.record.bytes.between.snapshots while that has its default of 20 MiB."""
NO_OPS_MAX: Final = 100_000
"""How many NoOpRecords one idle time writes at most."""


class LoggedRecord(NamedTuple):
    """One record of the log. `version` is -1 for a control record, which has none."""

    offset: int
    leader_epoch: int
    message: Message
    version: int


class SnapshotId(NamedTuple):
    """The end offset of a snapshot, and the epoch of its last record. Mirrors OffsetAndEpoch."""

    end_offset: int
    epoch: int


@dataclass(slots=True, kw_only=True, eq=False)
class MetadataBatch:
    """Records that are committed together. A control batch has a LeaderChangeMessage instead."""

    base_offset: int
    leader_epoch: int
    append_time_ms: int
    records: Sequence[MetadataRecord] = ()
    control: LeaderChangeMessage | None = None
    image: MetadataImage | None = None
    """The image after the batch, by reference; None in an old batch."""
    encoded: bytes | None = None

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + (1 if self.control is not None else len(self.records)) - 1

    @property
    def messages(self) -> Iterator[Message]:
        """The records without their versions; none of a control batch."""
        return (record.message for record in self.records)

    def logged(self) -> Iterator[LoggedRecord]:
        """The records with their offsets."""
        if self.control is not None:
            yield LoggedRecord(self.base_offset, self.leader_epoch, self.control, -1)
        for offset, (message, version) in enumerate(self.records, self.base_offset):
            yield LoggedRecord(offset, self.leader_epoch, message, version)

    def encode(self) -> bytes:
        """Return the record batch in the format of a real log, encoded once."""
        if self.encoded is None:
            from broker_sim.metadata.metadata_log_codec import encode_batch

            self.encoded = encode_batch(self)
        return self.encoded

    def applied_to(self, image: MetadataImage) -> MetadataImage:
        """The image after this batch, which follows on `image`."""
        if self.image is not None:
            return self.image
        return replay(image, self.messages, version=self.last_offset)


@dataclass(slots=True, kw_only=True, eq=False)
class MetadataSnapshot:
    """The whole image at one offset."""

    id: SnapshotId
    image: MetadataImage
    append_time_ms: int
    encoded: bytes | None = None

    def encode(self) -> bytes:
        """The checkpoint file: record batches between a SnapshotHeaderRecord and a SnapshotFooterRecord."""
        if self.encoded is None:
            from broker_sim.metadata.metadata_log_codec import encode_snapshot

            self.encoded = encode_snapshot(self)
        return self.encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogLimits:
    """The limits at which snapshots are made, and the idle time before a NoOpRecord (0: never)."""

    records_between_snapshots: int = RECORDS_BETWEEN_SNAPSHOTS_MAX
    bytes_between_snapshots: int | None = None
    """None where records are counted: bytes cost an encoding each."""
    snapshot_interval_ms: int = 3_600_000
    idle_interval_ms: int = 500


class MetadataLog:
    """One node's log. `image` is that at its end, `committed_image` that at its high watermark, which is exclusive."""

    def __init__(
        self, image: MetadataImage, *, now_ms: Callable[[], int], limits: MetadataLogLimits | None = None
    ) -> None:
        self._now_ms = now_ms
        self._limits = limits or MetadataLogLimits()
        self._batches: deque[MetadataBatch] = deque()
        self._uncommitted: deque[MetadataBatch] = deque()
        self._last_written_ms: int | None = None
        self._since_snapshot = 0
        self._snapshot_ms = now_ms()
        self._previous_snapshot_end = 0
        self.leader_epoch = 0
        """The epoch that appended batches get: the active controller's."""
        self.image = image
        self.committed_image = image
        self.start_offset = 0
        self.high_watermark = 0
        self.snapshot: MetadataSnapshot | None = None
        self.replicate: Callable[[MetadataBatch], None] | None = None
        self._commit_listeners: list[Callable[[MetadataBatch], None]] = []
        self.snapshot_made: Callable[[MetadataSnapshot], None] = _no_snapshot
        """Called with every snapshot that is made here."""

    # Queries.

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.image.version + 1

    @property
    def batches(self) -> tuple[MetadataBatch, ...]:
        """The retained part of the log, in order."""
        self.write_no_ops()
        return tuple(self._batches)

    def records(self, start_offset: int = 0) -> list[LoggedRecord]:
        """The records from `start_offset` on, or from the first that is kept."""
        self.write_no_ops()
        found = [record for batch in self._from(start_offset) for record in batch.logged()]
        return [record for record in found if record.offset >= start_offset]

    def read_committed(self, offset: int) -> list[MetadataBatch]:
        """The committed batches from the one with `offset` on; an offset before the log's start has none."""
        assert offset >= self.start_offset, "what is before the start is in the snapshot"
        return [batch for batch in self._from(offset) if batch.last_offset < self.high_watermark]

    def epoch_of(self, last_offset: int) -> int:
        """The epoch of the record at an offset that is in the log; that of the snapshot before its start."""
        if last_offset < self.start_offset:
            return self.snapshot.id.epoch if self.snapshot is not None else 0
        return next((batch.leader_epoch for batch in self._from(last_offset)), self.leader_epoch)

    def _from(self, offset: int) -> list[MetadataBatch]:
        batches = self._batches
        if not batches or batches[-1].last_offset < offset:
            return []
        if offset >= batches[-1].base_offset:
            return [batches[-1]]
        kept = list(batches)
        return kept[bisect_right(kept, offset - 1, key=lambda batch: batch.last_offset) :]

    # Writing.

    def append(self, records: Sequence[MetadataRecord], image: MetadataImage) -> MetadataBatch:
        """Write records as the leader; `image` is the image after them, except for its version."""
        self.write_no_ops()
        assert records, "a batch has records"
        return self._append(
            MetadataBatch(
                base_offset=self.end_offset,
                leader_epoch=self.leader_epoch,
                append_time_ms=self._now_ms(),
                records=records,
                image=image.with_version(self.image.version + len(records)),
            )
        )

    def append_leader_change(self, epoch: int, message: LeaderChangeMessage) -> MetadataBatch:
        """Begin the epoch of a new leader, by its own hand."""
        assert epoch > self.leader_epoch or not self._batches, "epochs grow"
        self.leader_epoch = epoch
        offset = self.end_offset
        return self._append(
            MetadataBatch(
                base_offset=offset,
                leader_epoch=epoch,
                append_time_ms=self._now_ms(),
                control=message,
                image=self.image.with_version(offset),
            )
        )

    def write_no_ops(self) -> None:
        """Write the NoOpRecords of an idle leader since its last record."""
        interval_ms = self._limits.idle_interval_ms
        if self._last_written_ms is None or interval_ms <= 0:
            return
        count = min((self._now_ms() - self._last_written_ms) // interval_ms, NO_OPS_MAX)
        if count <= 0 or not record_versions(self.image.finalized_features.get(METADATA_VERSION, 0)).has_no_ops:
            return
        written_ms = self._last_written_ms + count * interval_ms
        self._append(
            MetadataBatch(
                base_offset=self.end_offset,
                leader_epoch=self.leader_epoch,
                append_time_ms=written_ms,
                records=(_NO_OP,) * count,
                image=self.image.with_version(self.image.version + count),
            )
        )
        self._last_written_ms = written_ms

    def on_commit(self, listener: Callable[[MetadataBatch], None]) -> None:
        """Call `listener` with every batch that becomes committed from now on, after earlier listeners."""
        self._commit_listeners.append(listener)

    def resign(self) -> None:
        """Write no more of one's own: another node leads."""
        self._last_written_ms = None

    def append_replicated(self, batch: MetadataBatch) -> None:
        """Take a batch that a leader wrote; it follows on the end of this log."""
        assert batch.base_offset == self.end_offset, "a log has no gaps"
        self.leader_epoch = batch.leader_epoch
        self._add(batch)

    def truncate_to(self, offset: int) -> None:
        """Remove the uncommitted records from `offset` on."""
        assert offset >= self.high_watermark, "what is committed stays"
        while self._uncommitted and self._uncommitted[-1].last_offset >= offset:
            self._uncommitted.pop()
            self._batches.pop()
        image = self.committed_image
        for batch in self._uncommitted:
            image = batch.applied_to(image)
        self.image = image

    def advance_high_watermark(self, offset: int) -> None:
        """Commit all records before `offset`."""
        while self._uncommitted and self._uncommitted[0].last_offset < offset:
            batch = self._uncommitted.popleft()
            self.committed_image = batch.applied_to(self.committed_image)
            self.high_watermark = batch.last_offset + 1
            records = batch.last_offset + 1 - batch.base_offset
            self._since_snapshot += records if self._counts_records else len(batch.encode())
            for listener in self._commit_listeners:
                listener(batch)
        self._make_snapshot_when_due()

    def _append(self, batch: MetadataBatch) -> MetadataBatch:
        self._last_written_ms = batch.append_time_ms
        self._add(batch)
        if self.replicate is None:
            self.advance_high_watermark(batch.last_offset + 1)
        else:
            self.replicate(batch)
        return batch

    def _add(self, batch: MetadataBatch) -> None:
        self._batches.append(batch)
        self._uncommitted.append(batch)
        self.image = batch.applied_to(self.image)
        if len(self._batches) > IMAGES_KEPT:
            self._batches[-IMAGES_KEPT - 1].image = None

    # Snapshots.

    @property
    def _counts_records(self) -> bool:
        return self._limits.bytes_between_snapshots is None

    def _make_snapshot_when_due(self) -> None:
        limit = self._limits.bytes_between_snapshots or self._limits.records_between_snapshots
        aged = self._now_ms() - self._snapshot_ms >= self._limits.snapshot_interval_ms > 0
        if self._since_snapshot >= limit or (aged and self._since_snapshot):
            self.make_snapshot()

    def make_snapshot(self) -> MetadataSnapshot:
        """Keep the committed image as a snapshot, and remove the records of the snapshot before this one."""
        last = self.high_watermark - 1
        snapshot_id = SnapshotId(self.high_watermark, self.epoch_of(last))
        now_ms = self._now_ms()
        snapshot = MetadataSnapshot(id=snapshot_id, image=self.committed_image, append_time_ms=now_ms)
        self._delete_before(0 if self.snapshot is None else self.snapshot.id.end_offset)
        self.snapshot = snapshot
        self._since_snapshot = 0
        self._snapshot_ms = now_ms
        self.snapshot_made(snapshot)
        return snapshot

    def load(self, snapshot: MetadataSnapshot) -> None:
        """Replace the log with a snapshot."""
        self._batches.clear()
        self._uncommitted.clear()
        self.image = self.committed_image = snapshot.image
        self.start_offset = self.high_watermark = snapshot.id.end_offset
        self.leader_epoch = max(self.leader_epoch, snapshot.id.epoch)
        self.snapshot = snapshot
        self._since_snapshot = 0
        self._snapshot_ms = self._now_ms()

    def _delete_before(self, offset: int) -> None:
        while self._batches and self._batches[0].last_offset < offset:
            self.start_offset = self._batches.popleft().last_offset + 1


def _no_snapshot(snapshot: MetadataSnapshot) -> None:
    """Do nothing: there is no other owner of snapshots."""


_NO_OP: Final = MetadataRecord(NoOpRecord(), 0)
