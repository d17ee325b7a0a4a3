"""The log of one replica with its files. Mirrors UnifiedLog and LocalLog.

Appended records are in the page cache when the response is sent; `flush` makes them durable. A disk error fails the
whole directory: a leader's append is then refused with KAFKA_STORAGE_ERROR, all other operations do nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, cast

from broker_sim.log.append_results import AppendOrigin, PartitionAppend, RecordsRefused
from broker_sim.log.files.checkpoint_files import LEADER_EPOCH_FILE, epochs_to_bytes
from broker_sim.log.files.file_segment import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    FileLogSegment,
    segment_file,
)
from broker_sim.log.files.producer_snapshot_file import snapshot_to_bytes
from broker_sim.log.files.property_files import PARTITION_METADATA_FILE, partition_metadata_to_bytes
from broker_sim.log.leader_epoch_cache import EpochEntry, LeaderEpochCache
from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.log.replica_log import UNBOUNDED, ReplicaLog, TruncationInfo
from broker_sim.log.stored_batch import damaged
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.files.log_directory import LogDirectory
    from broker_sim.log.log_segment import LogSegment
    from broker_sim.log.producer_state import ProducerStateEntry
    from broker_sim.log.stored_batch import StoredBatch
    from protocol_specs.records.lone_batch import RecordSet

OFFSET_DIGITS: Final = 20


class CheckpointedEpochs(LeaderEpochCache):
    """Leader epochs that are written with every change."""

    __slots__ = ("_directory", "_path")

    def __init__(self, directory: LogDirectory, path: str, entries: Iterable[EpochEntry] = ()) -> None:
        super().__init__()
        self._directory = directory
        self._path = f"{path}/{LEADER_EPOCH_FILE}"
        self._entries.extend(entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note the first offset of an epoch; entries that contradict the newer one are removed."""
        last = self._entries[-1] if self._entries else None
        if last is None or last.epoch != epoch or start_offset < last.start_offset:
            super().assign(epoch, start_offset)
            self.write()

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that start at or after an offset."""
        with self._written_when_changed():
            super().truncate_from_end(end_offset)

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget what lies before an offset; the epoch that covers it then starts there."""
        with self._written_when_changed():
            super().truncate_from_start(start_offset)

    def clear(self) -> None:
        """Forget everything."""
        with self._written_when_changed():
            super().clear()

    @contextlib.contextmanager
    def _written_when_changed(self) -> Iterator[None]:
        before = self.entries
        yield
        if self.entries != before:
            self.write()

    def write(self) -> None:
        """Put the file in its place, also when nothing has changed."""
        directory = self._directory
        if directory.behaviour.logs_keep_epochs_and_producers and not directory.offline:
            try:
                self._directory.disk.replace(self._path, epochs_to_bytes(self._entries))
            except OSError as error:
                self._directory.failed(error)

    def moved(self, path: str) -> None:
        """The log's directory has another name."""
        self._path = f"{path}/{LEADER_EPOCH_FILE}"


class FileReplicaLog(ReplicaLog):
    """`path` is the log's own directory. `remove_later` receives renamed files that are to be deleted."""

    __slots__ = ("_disk", "_remove_later", "_restoring", "directory", "last_flush_ms", "path", "recovery_point")

    def __init__(
        self,
        *,
        topic: str,
        partition: int,
        topic_id: bytes,
        config: TopicConfig,
        broker_config: BrokerConfig,
        now_ms: int,
        random: Random | None,
        directory: LogDirectory,
        path: str,
        remove_later: Callable[[str, int], None],
        restoring: bool = False,
    ) -> None:
        """Create an empty log, or (`restoring`) one whose contents are restored next.

        Raises:
            OSError: The disk fails.
        """
        self.directory = directory
        self._disk = directory.disk
        self.path = path
        self._remove_later = remove_later
        self._restoring = restoring
        self.recovery_point = 0
        """Records before this offset are durable."""
        self.last_flush_ms = now_ms
        if not restoring:
            self._disk.make_directory(path)
            if directory.behaviour.logs_name_their_topic:
                self._disk.replace(f"{path}/{PARTITION_METADATA_FILE}", partition_metadata_to_bytes(topic_id))
        super().__init__(
            topic=topic,
            partition=partition,
            config=config,
            broker_config=broker_config,
            now_ms=now_ms,
            random=random,
        )
        self.epochs = CheckpointedEpochs(directory, path)

    def restore(
        self,
        segments: Sequence[FileLogSegment],
        *,
        epochs: Iterable[EpochEntry],
        log_start_offset: int,
        recovery_point: int,
        now_ms: int,
    ) -> None:
        """Restore the contents of the files; without any segment, an empty log that begins at its start offset."""
        self._restoring = False
        self.log_start_offset = log_start_offset
        self._segments = list(segments) or [self._new_segment(log_start_offset, now_ms)]
        last = self._segments[-1]
        self.log_end_offset = last.batches[-1].next_offset if last.batches else last.base_offset
        self.high_watermark = self.log_start_offset
        self.recovery_point = min(recovery_point, self.log_end_offset)
        self.epochs = CheckpointedEpochs(self.directory, self.path, epochs)
        self.epochs.truncate_from_end(self.log_end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)

    def set_config(self, config: TopicConfig) -> None:
        """Apply the topic's configuration to later writes."""
        self.config = config
        self._segments[-1].configure(config)

    @property
    def offline(self) -> bool:
        """True if the directory has failed."""
        return self.directory.offline

    @property
    def file_delete_delay_ms(self) -> int:
        """The time that deleted files stay on the disk."""
        delay_ms = self.config.values["file.delete.delay.ms"]
        assert isinstance(delay_ms, int)
        return delay_ms

    @property
    def suffixes(self) -> Sequence[str]:
        """The files of a segment."""
        return SEGMENT_SUFFIXES if self._behaviour.segments_have_time_indexes else SEGMENT_SUFFIXES[:2]

    def _later(self, path: str) -> None:
        self._remove_later(path, self.file_delete_delay_ms)

    def _files(self) -> list[FileLogSegment]:
        return cast("list[FileLogSegment]", self._segments)

    def _make_segment(
        self, base_offset: int, now_ms: int, *, roll_jitter_ms: int, producer_snapshot: Mapping[int, ProducerStateEntry]
    ) -> LogSegment:
        if self._restoring:
            return super()._make_segment(
                base_offset, now_ms, roll_jitter_ms=roll_jitter_ms, producer_snapshot=producer_snapshot
            )
        return FileLogSegment(
            base_offset,
            now_ms,
            self.config,
            disk=self._disk,
            directory=self.path,
            suffixes=self.suffixes,
            roll_jitter_ms=roll_jitter_ms,
            producer_snapshot=producer_snapshot,
        )

    def append_as_leader(
        self,
        records: RecordSet,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        transaction_version: int = 0,
        guard: object | None = None,
    ) -> PartitionAppend:
        """Append as a log in memory does.

        Raises:
            RecordsRefused: The records are invalid, or the directory is offline or fails (KAFKA_STORAGE_ERROR).
        """
        if not self.directory.offline:
            try:
                result = super().append_as_leader(
                    records, leader_epoch, now_ms, origin, transaction_version=transaction_version, guard=guard
                )
                if self.directory.pace is not None:
                    self.directory.pace.wrote(len(records))
                self._flush_if_due(now_ms)
            except OSError as error:
                self.directory.failed(error)
            else:
                return result
        raise RecordsRefused(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"Error while appending records to {self.topic_partition} in dir {self.directory.path}",
            log_start_offset_known=False,
        )

    def append_as_follower(self, batches: Sequence[StoredBatch], *, now_ms: int) -> None:
        """As in memory; nothing where the directory is offline."""
        if not self.directory.offline:
            with self._reporting():
                super().append_as_follower(batches, now_ms=now_ms)
                if self.directory.pace is not None and batches:
                    self.directory.pace.wrote(sum(batch.size for batch in batches), as_follower=True)
                self._flush_if_due(now_ms)

    def _flush_if_due(self, now_ms: int) -> None:
        """Mirrors UnifiedLog.append: as soon as `flush.messages` records are not durable."""
        messages = self.config.values["flush.messages"]
        assert isinstance(messages, int)
        if self.log_end_offset - self.recovery_point >= messages:
            self._flush(self.log_end_offset, in_background=False)
            self.last_flush_ms = now_ms

    def read(
        self, offset: int, *, max_bytes: int, up_to: int = UNBOUNDED, at_least_one: bool = True, fragment: bool = False
    ) -> list[StoredBatch]:
        """Read as in memory, unless the disk has a read error for the segment's file, which fails the directory.

        Raises:
            LogDirectoryOffline: The file cannot be read.
            OffsetOutOfRange: `offset` is below the log start offset or above the log end offset.
        """
        found = super().read(offset, max_bytes=max_bytes, up_to=up_to, at_least_one=at_least_one, fragment=fragment)
        if found:
            try:
                self._disk.check_read(segment_file(self.path, self.segment_base_offset(offset), LOG_SUFFIX))
            except OSError as error:
                self.directory.failed(error)
                raise LogDirectoryOffline(self.topic_partition) from error
        return found

    def reload_batch(self, base_offset: int, position: int) -> None:
        """Read the batch at a position of a segment's file again, which has changed there; readers get these bytes."""
        self.follower_read = None
        for segment in self._segments:
            if segment.base_offset == base_offset:
                data = self._disk.read(segment_file(self.path, base_offset, LOG_SUFFIX))
                end = 0
                for index, batch in enumerate(segment.batches):
                    start, end = end, end + batch.size
                    if start <= position < end:
                        segment.batches[index] = damaged(batch, data[start:end])

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.directory.failed(error)

    def roll(self, base_offset: int, now_ms: int) -> LogSegment:
        """Close the active segment, write a producer snapshot, and begin a new segment; the old ones are flushed."""
        active = self._files()[-1]
        active.become_inactive()
        if active.base_offset == base_offset:
            active.release()
        segment = super().roll(base_offset, now_ms)
        self.write_snapshot(base_offset)
        self._flush(base_offset)
        return segment

    def flush(self, now_ms: int) -> None:
        """Make all records durable."""
        with self._reporting():
            self._flush(self.log_end_offset)
        self.last_flush_ms = now_ms

    def _flush(self, offset: int, *, in_background: bool = True) -> None:
        """`in_background` is for flushes by time and of rolled segments, which Kafka does on other threads."""
        if offset <= self.recovery_point:
            return
        if self.directory.pace is not None:
            self.directory.pace.synced(self.topic_partition, in_background=in_background)
        segments = self._files()
        for index, segment in enumerate(segments):
            ends_before = index + 1 < len(segments) and segments[index + 1].base_offset <= self.recovery_point
            if not ends_before and segment.base_offset < offset:
                segment.flush()
        self.recovery_point = offset

    def write_snapshot(self, offset: int) -> None:
        """Write the producers of now as the snapshot at an offset; a release that keeps none has no such files."""
        if not self._behaviour.logs_keep_epochs_and_producers:
            return
        data = snapshot_to_bytes(self.producers.active_producers)
        self._disk.replace(segment_file(self.path, offset, SNAPSHOT_SUFFIX), data)

    def write_snapshot_at_the_end(self, *, clean: bool = False) -> None:
        """Write a snapshot at the log's end unless the newest one is there. Mirrors ProducerStateManager.takeSnapshot.

        After an unclean end an empty log at its start offset gets none.
        """
        offsets = [
            int(name[:OFFSET_DIGITS]) for name in self._disk.list_directory(self.path) if name.endswith(SNAPSHOT_SUFFIX)
        ]
        if self.log_end_offset > max(offsets, default=0 if clean else self.log_start_offset):
            self.write_snapshot(self.log_end_offset)

    def delete_segments(self, count: int, now_ms: int) -> int:
        """Delete the oldest segments and move the log start offset up; their files go a while later."""
        before = self._files()
        before = before[:count]
        with self._reporting():
            count = super().delete_segments(count, now_ms)
            self._delete_files([segment for segment in before if segment not in self._segments])
        return count

    def _delete_files(self, segments: Iterable[FileLogSegment]) -> None:
        for segment in segments:
            segment.change_suffix("", DELETED_SUFFIX)
            segment.remove_later(DELETED_SUFFIX, self._later)
            snapshot = segment_file(self.path, segment.base_offset, SNAPSHOT_SUFFIX)
            if segment.base_offset != self._segments[0].base_offset and self._disk.is_file(snapshot):
                self._disk.remove(snapshot)

    def replace_segments(self, replacement: LogSegment, old: Sequence[LogSegment]) -> None:
        """Write a compacted segment beside its sources and swap it in. Mirrors LocalLog.replaceSegments.

        After an interruption at any point the next start finds either all of the old segments or the new one.
        """
        with self._reporting():
            cleaned = FileLogSegment(
                replacement.base_offset,
                replacement.created_ms,
                self.config,
                disk=self._disk,
                directory=self.path,
                suffixes=self.suffixes,
                state_suffix=CLEANED_SUFFIX,
                producer_snapshot=replacement.producer_snapshot,
            )
            cleaned.extend(replacement.batches)
            for transaction in replacement.aborted_transactions:
                cleaned.append_aborted(transaction)
            cleaned.modified_ms = replacement.modified_ms
            cleaned.become_inactive()
            cleaned.flush()
            cleaned.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
            sources = cast("Sequence[FileLogSegment]", old)
            super().replace_segments(cleaned, old)
            for segment in sources:
                segment.change_suffix("", DELETED_SUFFIX)
                segment.remove_later(DELETED_SUFFIX, self._later)
                if segment is not sources[0]:
                    snapshot = segment_file(self.path, segment.base_offset, SNAPSHOT_SUFFIX)
                    if self._disk.is_file(snapshot):
                        self._disk.remove(snapshot)
            cleaned.change_suffix(SWAP_SUFFIX, "")

    def truncate_to(self, offset: int) -> TruncationInfo:
        """Cut everything from `offset` on, in the files too."""
        before = list(self._files())
        try:
            info = super().truncate_to(offset)
            if info.truncated:
                self._delete_files([segment for segment in before if segment not in self._segments])
                self.remove_snapshots_outside(self.log_start_offset, offset)
                self.write_snapshot_at_the_end()
                self.recovery_point = min(self.recovery_point, offset)
        except OSError as error:
            return self._not_truncated(error)
        return info

    def truncate_fully_and_start_at(self, offset: int) -> TruncationInfo:
        """Drop everything and go on at another offset, which may lie beyond the old end."""
        try:
            for segment in self._files():
                segment.change_suffix("", DELETED_SUFFIX)
                segment.remove_later(DELETED_SUFFIX, self._later)
            info = super().truncate_fully_and_start_at(offset)
            self.remove_snapshots_outside(-1, -1)
            self.write_snapshot(offset)
            self.recovery_point = min(self.recovery_point, offset)
        except OSError as error:
            return self._not_truncated(error)
        return info

    def _not_truncated(self, error: OSError) -> TruncationInfo:
        self.directory.failed(error)
        return TruncationInfo(old_log_end_offset=self.log_end_offset, new_log_end_offset=self.log_end_offset)

    def remove_snapshots_outside(self, log_start_offset: int, log_end_offset: int) -> None:
        """Remove the producer snapshots that do not lie above the log start and at or below the log end."""
        for name in self._disk.list_directory(self.path):
            if name.endswith(SNAPSHOT_SUFFIX) and not log_start_offset < int(name[:OFFSET_DIGITS]) <= log_end_offset:
                self._disk.remove(f"{self.path}/{name}")

    def close(self, now_ms: int) -> None:
        """Close as an orderly stop does: flush, complete the indexes, write a producer snapshot."""
        with self._reporting():
            self.write_snapshot(self.log_end_offset)
            self._files()[-1].become_inactive()
            self._files()[-1].flush()
            self._flush(self.log_end_offset)
            self.last_flush_ms = now_ms
        self.release()

    def release(self) -> None:
        """Close the files without a flush: the process ends."""
        for segment in self._files():
            segment.release()

    def take_over(self, future: FileReplicaLog) -> None:
        """Switch to the files of a future replica, which has the same records and this log's name."""
        self.release()
        future.log_start_offset = self.log_start_offset
        self.directory = future.directory
        self.path = future.path
        self._segments = future._segments
        self.recovery_point = future.recovery_point
        self.epochs = CheckpointedEpochs(self.directory, self.path, self.epochs.entries)
        self.epochs.write()

    def rename(self, path: str) -> None:
        """Rename the log's directory.

        Raises:
            OSError: The disk fails.
        """
        self.release()
        self._disk.rename(self.path, path)
        self.path = path
        for segment in self._files():
            segment.moved(path)
        cast("CheckpointedEpochs", self.epochs).moved(path)
