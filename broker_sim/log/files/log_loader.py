"""A log's files, read back at the start of a broker. Mirrors LogLoader with LogSegment.recover.

After an orderly stop the files are trusted. Otherwise every batch from the recovery point on is validated: the log is
truncated at the first invalid one, and indexes and producer states are rebuilt. Records below the recovery point were
durable and must be readable: CorruptFile has the position where they are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from twisted.logger import Logger

from broker_sim.log.files.checkpoint_files import LEADER_EPOCH_FILE, read_epochs
from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.files.file_log import OFFSET_DIGITS, FileReplicaLog
from broker_sim.log.files.file_segment import (
    ALL_SUFFIXES,
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    FileLogSegment,
    segment_file,
)
from broker_sim.log.files.producer_snapshot_file import snapshot_from_bytes
from broker_sim.log.files.stored_batches import all_batches, sound_batches
from broker_sim.log.leader_epoch_cache import LeaderEpochCache
from broker_sim.log.producer_state import NO_TRANSACTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.files.log_directory import LogDirectory
    from broker_sim.log.producer_state import ProducerStateEntry
    from broker_sim.topic_partition import TopicPartition
    from sim_runtime.disk import Disk

_log = Logger()

TEMPORARY_SUFFIX: Final = ".tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogToLoad:
    """One log's directory, and its offsets in the checkpoints of the log directory."""

    topic_partition: TopicPartition
    topic_id: bytes
    path: str
    recovery_point: int
    log_start_offset: int
    clean: bool
    """True after an orderly stop of the last run."""


def load_log(
    wanted: LogToLoad,
    *,
    directory: LogDirectory,
    config: TopicConfig,
    broker_config: BrokerConfig,
    now_ms: int,
    random: Random | None,
    remove_later: Callable[[str, int], None],
) -> FileReplicaLog:
    """Return the log, restored from its files.

    Raises:
        CorruptFile: A file cannot be read.
        OSError: The disk fails.
    """
    log = broker_config.part_types.of(FileReplicaLog)(
        topic=wanted.topic_partition.topic,
        partition=wanted.topic_partition.partition,
        topic_id=wanted.topic_id,
        config=config,
        broker_config=broker_config,
        now_ms=now_ms,
        random=random,
        directory=directory,
        path=wanted.path,
        remove_later=remove_later,
        restoring=True,
    )
    return _Loader(log, wanted, directory.disk, now_ms).load()


class _Loader:
    def __init__(self, log: FileReplicaLog, wanted: LogToLoad, disk: Disk, now_ms: int) -> None:
        self._log = log
        self._wanted = wanted
        self._path = wanted.path
        self._disk = disk
        self._now_ms = now_ms
        self._epochs = LeaderEpochCache()
        self._without_aborted: list[FileLogSegment] = []
        """The segments whose index of aborted transactions has to be rebuilt."""

    def load(self) -> FileReplicaLog:
        self._finish_what_was_begun()
        epochs = read_epochs(self._disk, f"{self._path}/{LEADER_EPOCH_FILE}")
        for epoch, start_offset in epochs:
            self._epochs.assign(epoch, start_offset)
        segments = self._load_segments()
        log = self._log
        first_offset = segments[0].base_offset if segments else self._wanted.log_start_offset
        log.restore(
            segments,
            epochs=self._epochs.entries,
            log_start_offset=max(first_offset, self._wanted.log_start_offset),
            recovery_point=self._wanted.recovery_point,
            now_ms=self._now_ms,
        )
        if log.log_end_offset < log.log_start_offset:
            # All records up to there are deleted, and no others are left: begin at the log start offset.
            log.truncate_fully_and_start_at(log.log_start_offset)
        self._load_producers()
        log.write_snapshot_at_the_end(clean=self._wanted.clean)
        if self._epochs.entries != tuple(epochs) and log.epochs.entries == self._epochs.entries:
            log.epochs.write()  # type: ignore[attr-defined]
        return log

    def _names(self, suffix: str) -> list[str]:
        return [name for name in self._disk.list_directory(self._path) if name.endswith(suffix)]

    def _finish_what_was_begun(self) -> None:
        """Mirrors LogLoader.removeTempFilesAndCollectSwapFiles and what follows it."""
        for suffix in (DELETED_SUFFIX, CLEANED_SUFFIX, TEMPORARY_SUFFIX):
            for name in self._names(suffix):
                self._disk.remove(f"{self._path}/{name}")
        for name in self._names(LOG_SUFFIX + SWAP_SUFFIX):
            base_offset = int(name[:OFFSET_DIGITS])
            batches, _ = all_batches(self._disk.read(f"{self._path}/{name}"), f"{self._path}/{name}")
            end = batches[-1].next_offset if batches else base_offset + 1
            for source in self._base_offsets():
                if base_offset <= source < end:
                    self._remove_segment(source)
            for suffix in ALL_SUFFIXES:
                swap = segment_file(self._path, base_offset, suffix + SWAP_SUFFIX)
                if self._disk.is_file(swap):
                    self._disk.rename(swap, segment_file(self._path, base_offset, suffix))
        for name in self._names(SWAP_SUFFIX):
            self._disk.remove(f"{self._path}/{name}")
        known = self._base_offsets()
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
            for name in self._names(suffix):
                if int(name[:OFFSET_DIGITS]) not in known:
                    self._disk.remove(f"{self._path}/{name}")

    def _base_offsets(self) -> list[int]:
        return [int(name[:OFFSET_DIGITS]) for name in self._names(LOG_SUFFIX)]

    def _remove_segment(self, base_offset: int) -> None:
        for suffix in ALL_SUFFIXES:
            path = segment_file(self._path, base_offset, suffix)
            if self._disk.is_file(path):
                self._disk.remove(path)

    def _load_segments(self) -> list[FileLogSegment]:
        base_offsets = self._base_offsets()
        segments: list[FileLogSegment] = []
        for index, base_offset in enumerate(base_offsets):
            is_last = index + 1 == len(base_offsets)
            recover = not self._wanted.clean and (is_last or base_offsets[index + 1] > self._wanted.recovery_point)
            segment, sound = self._load_segment(base_offset, recover=recover)
            segments.append(segment)
            if not sound:
                for later in base_offsets[index + 1 :]:
                    _log.warn("{path}: segment {base} lies behind a cut and goes", path=self._path, base=later)
                    self._remove_segment(later)
                break
        return segments

    def _load_segment(self, base_offset: int, *, recover: bool) -> tuple[FileLogSegment, bool]:
        """Return one segment, and True if all of it was valid."""
        path = segment_file(self._path, base_offset, LOG_SUFFIX)
        data = self._disk.read(path)
        if recover:
            batches, size = sound_batches(data, base_offset)
            for batch in batches:
                newest = self._epochs.latest_epoch
                if batch.leader_epoch >= 0 and (newest is None or batch.leader_epoch > newest):
                    self._epochs.assign(batch.leader_epoch, batch.base_offset)
            if size < len(data):
                text = "{path}: cut at byte {size} of {length}: what follows was never flushed"
                _log.warn(text, path=path, size=size, length=len(data))
        else:
            batches, size = all_batches(data, path)
        has_indexes = all(self._disk.is_file(segment_file(self._path, base_offset, s)) for s in self._log.suffixes)
        segment = FileLogSegment(
            base_offset,
            self._now_ms,
            self._log.config,
            disk=self._disk,
            directory=self._path,
            suffixes=self._log.suffixes,
        )
        segment.restore(batches, rebuild_indexes=recover or not has_indexes)
        if recover:
            self._without_aborted.append(segment)
        else:
            try:
                segment.restore_aborted()
            except CorruptFile as error:
                _log.warn("rebuilding the transaction index: {error}", error=error)
                self._without_aborted.append(segment)
        return segment, size == len(data)

    def _load_producers(self) -> None:
        """The newest snapshot above the log start, and what came after it. Mirrors UnifiedLog.rebuildProducerState."""
        log = self._log
        start = log.log_start_offset
        snapshots = self._snapshots()
        for segment in self._without_aborted:
            self._recover_aborted(segment, snapshots)
        snapshots = {offset: self._living(producers) for offset, producers in snapshots.items() if offset > start}
        log.remove_snapshots_outside(start, log.log_end_offset)
        running: dict[int, ProducerStateEntry] = {}
        for segment in cast("Sequence[FileLogSegment]", log.segments):
            running = {} if segment.base_offset <= start else snapshots.pop(segment.base_offset, running)
            segment.producer_snapshot = {producer_id: entry.copy(batches=1) for producer_id, entry in running.items()}
            newest = max((offset for offset in snapshots if segment.base_offset < offset), default=None)
            is_last = segment is log.segments[-1]
            if is_last and newest is not None:
                running = snapshots[newest]
            after = newest if is_last and newest is not None else segment.base_offset
            kept = [batch for batch in segment.batches if batch.base_offset >= after and batch.last_offset >= start]
            log.producers.reload(running, kept)
            running = {producer_id: entry.copy() for producer_id, entry in log.producers.active_producers.items()}
        log.producers.keep_snapshots(snapshots | {log.log_end_offset: log.producers.snapshot()})

    def _recover_aborted(self, segment: FileLogSegment, snapshots: dict[int, dict[int, ProducerStateEntry]]) -> None:
        """Rebuild the index of one segment, and add the snapshots around it. Mirrors LogLoader.recoverSegment.

        The state before the segment is that of the newest snapshot above the log start of the checkpoint. A log that
        begins with its first segment has none there, and remembers more than after a load without a recovery.
        """
        producers = self._log.producers
        start, base_offset = self._wanted.log_start_offset, segment.base_offset
        for offset in [offset for offset in snapshots if not start < offset <= base_offset]:
            del snapshots[offset]
        self._log.remove_snapshots_outside(start, base_offset)
        newest = max(snapshots, default=start)
        between = [
            batch
            for earlier in self._log.segments
            if earlier.base_offset < base_offset
            for batch in earlier.batches
            if batch.last_offset >= newest
        ]
        producers.reload(snapshots.get(newest, {}), between)
        self._add_snapshot(base_offset, snapshots)
        segment.rebuild_aborted(producers.reload(producers.snapshot(), segment.batches))
        self._add_snapshot(segment.batches[-1].next_offset if segment.batches else base_offset, snapshots)

    def _add_snapshot(self, offset: int, snapshots: dict[int, dict[int, ProducerStateEntry]]) -> None:
        if offset > max(snapshots, default=0):
            snapshots[offset] = self._log.producers.snapshot()
            self._log.write_snapshot(offset)

    def _snapshots(self) -> dict[int, dict[int, ProducerStateEntry]]:
        found = {}
        for name in self._names(SNAPSHOT_SUFFIX):
            path = f"{self._path}/{name}"
            offset = int(name[:OFFSET_DIGITS])
            if not self._wanted.log_start_offset < offset <= self._log.log_end_offset:
                self._disk.remove(path)
                continue
            try:
                found[offset] = self._living(snapshot_from_bytes(self._disk.read(path), path))
            except CorruptFile as error:
                _log.warn("the snapshot is of no use: {error}", error=error)
                self._disk.remove(path)
        return found

    def _living(self, producers: Mapping[int, ProducerStateEntry]) -> dict[int, ProducerStateEntry]:
        """Return the producers of a snapshot that have not expired."""
        idle_since_ms = self._now_ms - self._log.producers.expiration_ms
        return {
            key: each
            for key, each in producers.items()
            if each.last_timestamp > idle_since_ms or each.transaction_start != NO_TRANSACTION
        }
