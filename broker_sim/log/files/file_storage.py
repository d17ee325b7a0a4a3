"""A broker's logs on a disk, in one or several log directories. Mirrors LogManager.

A start reads all files, and recovers the unflushed part if the last run did not end in order. While the broker runs, it
writes checkpoints periodically, and makes records durable by the flush settings; without any, when a segment is full
and at an orderly stop, as in Kafka.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, cast

from twisted.logger import Logger

from broker_sim.log.files.checkpoint_files import (
    CLEANER_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_FILE,
)
from broker_sim.log.files.errors import CorruptFile, ForeignDirectory
from broker_sim.log.files.file_log import FileReplicaLog
from broker_sim.log.files.file_segment import LOG_SUFFIX
from broker_sim.log.files.future_replica import FutureReplica
from broker_sim.log.files.log_directory import LogDirectory
from broker_sim.log.files.log_loader import LogToLoad, load_log
from broker_sim.log.files.property_files import (
    PARTITION_METADATA_FILE,
    partition_metadata_to_bytes,
    read_partition_metadata,
)
from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.log.replica_storage import ReplicaStorage
from broker_sim.topic_partition import TopicPartition
from sim_runtime.repeating_call import RepeatingCall
from sim_runtime.virtual_disk import VirtualDisk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.faults.slow_disks import DiskPace
    from broker_sim.log.replica_log import ReplicaLog
    from sim_runtime.disk import Disk, DiskSpace
    from sim_runtime.interfaces import IReactor

_log = Logger()

METADATA_LOG: Final = TopicPartition("__cluster_metadata", 0)
DELETE_SUFFIX: Final = "-delete"
FUTURE_SUFFIX: Final = "-future"
FOREVER_MS: Final = 2**63 - 1
MOVE_LIMIT: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
UUID_BYTES: Final = 16


class FileStorage(ReplicaStorage):
    """`now_ms` is the broker's clock; `random` draws ids of directories and the jitter of rolls.

    `topic_id_of` returns the ids of topics whose logs have no `partition.metadata`, as before 2.8. `configs_of` returns
    the configurations of a topic, by which the logs are read: a broker knows them from the metadata before its logs.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        disk: Disk,
        reactor: IReactor,
        cluster_id: str,
        broker_id: int,
        now_ms: Callable[[], int],
        random: Random,
        topic_id_of: Callable[[str], bytes | None] = lambda _: None,
        configs_of: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        super().__init__(config, random=random)
        self._topic_id_of = topic_id_of
        self._configs_of = configs_of
        self.disk = disk
        self._reactor = reactor
        self._cluster_id = cluster_id
        self._broker_id = broker_id
        self._now_ms = now_ms
        self._ids = random
        self._on_disk: dict[str, LogDirectory] = {}
        self._failed_by_hand: dict[str, None] = {}
        self._paces: dict[str, DiskPace] = {}
        self._removals: dict[IDelayedCall, str] = {}
        self._tasks: list[RepeatingCall] = []
        self._failures: list[IDelayedCall] = []
        self._moves: dict[TopicPartition, FutureReplica] = {}
        self._move_bytes_per_second: int | None = None

    def directory_id(self, name: str) -> bytes:
        """The id of a directory, as its `meta.properties` has it."""
        return self._on_disk[name].directory_id

    def space(self, name: str, used_bytes: int) -> DiskSpace:
        """The room on its disk."""
        try:
            return self.disk.space(name)
        except OSError as error:
            self._on_disk[name].failed(error)
            return super().space(name, used_bytes)

    def open(self, now_ms: int) -> None:
        """Lock and read every directory; one that cannot be read is offline. A second call does nothing.

        Raises:
            ForeignDirectory: A directory belongs to another owner.
            CorruptFile: A file cannot be read.
        """
        if self._tasks:
            return
        self._logs.clear()
        known = {name: self.directories.replicas_in(name) for name in self.directories.names}
        self.directories.offline.clear()
        for name in self._mended:
            self._failed_by_hand.pop(name, None)
        self._mended.clear()
        try:
            for name in self.directories.names:
                directory = self._on_disk[name] = LogDirectory(
                    name,
                    disk=self.disk,
                    behaviour=self._broker_config.behaviour,
                    on_failure=self._went_offline,
                )
                directory.pace = self._paces.get(name)
                try:
                    self._open(directory, now_ms)
                except OSError as error:
                    _log.error("log directory {path} cannot be used: {error}", path=name, error=error)
                    directory.offline = True
                    directory.unlock()
                    self.directories.offline[name] = None
                else:
                    for topic_partition in known[name]:
                        if topic_partition not in self._logs:
                            self.directories.remove(topic_partition)
        except (ForeignDirectory, CorruptFile):
            for directory in self._on_disk.values():
                directory.unlock()
            raise
        self._start_tasks()

    def _open(self, directory: LogDirectory, now_ms: int) -> None:
        if directory.path in self._failed_by_hand:
            raise OSError("it was made to fail")
        directory.open(cluster_id=self._cluster_id, broker_id=self._broker_id, random=self._ids)
        recovery_points = directory.read_checkpoint(RECOVERY_POINT_FILE)
        log_starts = directory.read_checkpoint(LOG_START_FILE)
        high_watermarks = directory.read_checkpoint(REPLICATION_FILE)
        cleaned = directory.read_checkpoint(CLEANER_FILE)
        for name in self.disk.list_directory(directory.path):
            path = f"{directory.path}/{name}"
            if not self.disk.is_directory(path):
                continue
            if name.endswith((DELETE_SUFFIX, FUTURE_SUFFIX)):
                self.disk.remove(path)
                continue
            topic_partition = _topic_partition(name)
            if topic_partition is None or topic_partition == METADATA_LOG:
                continue
            topic_id = self._read_topic_id(topic_partition, path)
            if topic_partition in self._logs:
                raise CorruptFile(path, 0, f"{self.directories.of(topic_partition)} has a log of {topic_partition} too")
            log = load_log(
                LogToLoad(
                    topic_partition=topic_partition,
                    topic_id=topic_id,
                    path=path,
                    recovery_point=recovery_points.get(topic_partition, 0),
                    log_start_offset=log_starts.get(topic_partition, 0),
                    clean=directory.was_clean,
                ),
                directory=directory,
                config=self.topic_config(self._configs_of(topic_partition.topic)),
                broker_config=self._broker_config,
                now_ms=now_ms,
                random=self._random,
                remove_later=self._remove_later,
            )
            log.update_high_watermark(
                min(max(high_watermarks.get(topic_partition, 0), log.log_start_offset), log.log_end_offset)
            )
            log.first_dirty_offset = cleaned.get(topic_partition)
            self._logs[topic_partition] = (topic_id, log)
            self.directories.put(topic_partition, directory.path)

    def _read_topic_id(self, topic_partition: TopicPartition, path: str) -> bytes:
        file = f"{path}/{PARTITION_METADATA_FILE}"
        topic_id = read_partition_metadata(self.disk, file)
        if topic_id is None:
            topic_id = self._topic_id_of(topic_partition.topic)
            if topic_id is None:
                raise CorruptFile(file, 0, "there is no such file")
            if self._broker_config.behaviour.logs_name_their_topic:
                self.disk.replace(file, partition_metadata_to_bytes(topic_id))
        return topic_id

    def close(self, now_ms: int, *, clean_epoch: int | None) -> None:
        """Flush and write the clean shutdown file, or (None) close the files without a flush.

        Does nothing to a storage that is closed.
        """
        if not self._tasks:
            return
        for task in self._tasks:
            task.stop()
        self._tasks.clear()
        for call in (*self._removals, *self._failures):
            if call.active():
                call.cancel()
        self._failures.clear()
        for move in self._moves.values():
            move.stop()
            move.log.release()
        self._moves.clear()
        if clean_epoch is not None:
            for log in self._file_logs():
                if not log.directory.offline:
                    log.close(now_ms)
            for path in self._removals.values():
                self._remove(path)
            self.checkpoint()
            for directory in self._on_disk.values():
                directory.note_clean_shutdown(clean_epoch)
        self._removals.clear()
        for log in self._file_logs():
            log.release()
        for directory in self._on_disk.values():
            directory.unlock()

    def lose_power(self, random: Random) -> None:
        """Lose all data that is not durable, as a power loss does; the next start reads the rest."""
        for name in self.directories.names:
            self.disk.lose_power(name, random)
        self._logs.clear()

    def _start_tasks(self) -> None:
        for name, task in (
            ("replica.high.watermark.checkpoint.interval.ms", self.checkpoint_high_watermarks),
            ("log.flush.offset.checkpoint.interval.ms", self.checkpoint_recovery_points),
            ("log.flush.start.offset.checkpoint.interval.ms", self.checkpoint_log_starts),
            ("log.flush.scheduler.interval.ms", self.flush_dirty_logs),
        ):
            interval_ms = self._broker_config[name]
            assert isinstance(interval_ms, int)
            if 0 < interval_ms < FOREVER_MS:
                self._tasks.append(RepeatingCall(self._reactor, interval_ms, task))
                self._tasks[-1].start()

    def _file_logs(self) -> list[FileReplicaLog]:
        return [cast("FileReplicaLog", log) for _, log in self._logs.values()]

    def checkpoint(self) -> None:
        """Write all checkpoints."""
        self.checkpoint_recovery_points()
        self.checkpoint_log_starts()
        self.checkpoint_high_watermarks()

    def checkpoint_high_watermarks(self) -> None:
        """`replication-offset-checkpoint`: where a restarted broker takes its high watermarks from."""
        self._checkpoint(REPLICATION_FILE, lambda log: log.high_watermark)

    def checkpoint_recovery_points(self) -> None:
        """`recovery-point-offset-checkpoint`: where recovery begins. Writes the cleaner's checkpoint too."""
        self._checkpoint(RECOVERY_POINT_FILE, lambda log: log.recovery_point)
        self._checkpoint(CLEANER_FILE, lambda log: log.first_dirty_offset)

    def checkpoint_log_starts(self) -> None:
        """`log-start-offset-checkpoint`: of the logs whose start is within a segment."""
        if not self._broker_config.behaviour.logs_keep_epochs_and_producers:
            return
        self._checkpoint(
            LOG_START_FILE,
            lambda log: log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None,
        )

    def _checkpoint(self, name: str, offset_of: Callable[[FileReplicaLog], int | None]) -> None:
        for directory in self._on_disk.values():
            offsets = {
                log.topic_partition: offset
                for log in self._file_logs()
                if log.directory is directory and (offset := offset_of(log)) is not None
            }
            directory.write_checkpoint(name, offsets)

    def flush_dirty_logs(self) -> None:
        """Flush the logs whose `flush.ms` is over. Mirrors LogManager.flushDirtyLogs."""
        now_ms = self._now_ms()
        for log in self._file_logs():
            flush_ms = log.config.values["flush.ms"]
            assert isinstance(flush_ms, int)
            if not log.directory.offline and now_ms - log.last_flush_ms >= flush_ms:
                log.flush(now_ms)

    def fail_directory(self, name: str) -> None:
        """Take the directory offline, also at the next start unless it is repaired."""
        self._failed_by_hand[name] = None
        directory = self._on_disk.get(name)
        if directory is not None:
            directory.offline = True
        super().fail_directory(name)

    def fill_directory(self, name: str, left_bytes: int) -> None:
        """Limit the directory's free bytes; a write that does not fit fails it."""
        if not isinstance(self.disk, VirtualDisk):
            super().fill_directory(name, left_bytes)
            return
        self.disk.fill(name, left_bytes=left_bytes)

    def reload(self, path: str, position: int) -> None:
        """Read the batch at a position of a log's file again, which has changed there; other files do nothing."""
        directory, name = posixpath.split(path)
        base_offset, suffix = posixpath.splitext(name)
        for log in self._file_logs():
            if suffix == LOG_SUFFIX and log.path == directory:
                log.reload_batch(int(base_offset), position)

    def slow_directory(self, name: str, pace: DiskPace | None) -> None:
        """Make the directory's disk slow, or (None) fast again."""
        if pace is None:
            self._paces.pop(name, None)
        else:
            self._paces[name] = pace
        if name in self._on_disk:
            self._on_disk[name].pace = pace

    def mend_directory(self, name: str) -> None:
        """Repair the directory: the broker's next start finds it online."""
        super().mend_directory(name)
        if isinstance(self.disk, VirtualDisk):
            self.disk.mend(name)

    def _went_offline(self, directory: LogDirectory) -> None:
        # Later, as on the thread of LogDirFailureHandler: the caller is in the middle of an operation.
        self._failures.append(self._reactor.callLater(0, self._notify_failure, directory.path))

    def _notify_failure(self, name: str) -> None:
        self._failures = [call for call in self._failures if call.active()]
        super().fail_directory(name)

    def _new_log(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        config: TopicConfig,
        directory: str,
        now_ms: int,
    ) -> ReplicaLog:
        on_disk = self._on_disk[directory]
        path = f"{directory}/{topic_partition}"
        if not on_disk.offline:
            try:
                return self.new_log_in(on_disk, path, topic_partition, topic_id, config, now_ms)
            except OSError as error:
                on_disk.failed(error)
        raise LogDirectoryOffline(topic_partition)

    def new_log_in(
        self,
        directory: LogDirectory,
        path: str,
        topic_partition: TopicPartition,
        topic_id: bytes,
        config: TopicConfig,
        now_ms: int,
    ) -> FileReplicaLog:
        """Return an empty log at a path.

        Raises:
            OSError: The disk fails.
        """
        return self._broker_config.part_types.of(FileReplicaLog)(
            topic=topic_partition.topic,
            partition=topic_partition.partition,
            topic_id=topic_id,
            config=config,
            broker_config=self._broker_config,
            now_ms=now_ms,
            random=self._random,
            directory=directory,
            path=path,
            remove_later=self._remove_later,
        )

    def delete(self, topic_partition: TopicPartition) -> None:
        """Rename the log's directory, and remove it a while later. Mirrors LogManager.asyncDelete."""
        found = self._logs.get(topic_partition)
        self._abandon_move(topic_partition)
        super().delete(topic_partition)
        if found is not None:
            self._discard(cast("FileReplicaLog", found[1]))

    def _discard(self, log: FileReplicaLog) -> None:
        """Discard a log."""
        if log.directory.offline:
            return
        path = self._unique_path(log.directory, log.topic_partition, DELETE_SUFFIX)
        try:
            log.rename(path)
            log.release()
        except OSError as error:
            log.directory.failed(error)
            return
        self._remove_later(path, log.file_delete_delay_ms)

    def _unique_path(self, directory: LogDirectory, topic_partition: TopicPartition, suffix: str) -> str:
        return f"{directory.path}/{topic_partition}.{self._ids.randbytes(UUID_BYTES).hex()}{suffix}"

    def move(self, topic_partition: TopicPartition, directory: str) -> None:
        """Start to copy a log to another directory, or record the directory of a log that is created later."""
        found = self._logs.get(topic_partition)
        if found is None:
            self.directories.prefer(topic_partition, directory)
            return
        self._abandon_move(topic_partition)
        if self.directories.of(topic_partition) == directory:
            return
        topic_id, current = found[0], cast("FileReplicaLog", found[1])
        target = self._on_disk[directory]
        path = self._unique_path(target, topic_partition, FUTURE_SUFFIX)
        try:
            future = self.new_log_in(target, path, topic_partition, topic_id, current.config, self._now_ms())
        except OSError as error:
            target.failed(error)
            return
        self._moves[topic_partition] = FutureReplica(
            current,
            future,
            reactor=self._reactor,
            bytes_per_second=self._move_bytes_per_second,
            caught_up=self._swap,
        )

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply the broker's changed configurations, such as the throttle of moves between directories."""
        super().reconfigure(config)
        limit = config.dynamic_own.get(MOVE_LIMIT, config.dynamic_defaults.get(MOVE_LIMIT))
        self._move_bytes_per_second = None if limit is None else max(int(limit), 1)
        for move in self._moves.values():
            move.bytes_per_second = self._move_bytes_per_second

    def _swap(self, move: FutureReplica) -> None:
        current, future = move.current, move.log
        topic_partition = current.topic_partition
        future.flush(self._now_ms())
        if future.directory.offline:
            return
        del self._moves[topic_partition]
        self._discard(current)
        try:
            future.rename(f"{future.directory.path}/{topic_partition}")
        except OSError as error:
            future.directory.failed(error)
            return
        current.take_over(future)
        self.directories.put(topic_partition, future.directory.path)
        self._report_directory(topic_partition, self._logs[topic_partition][0])

    def _abandon_move(self, topic_partition: TopicPartition) -> None:
        move = self._moves.pop(topic_partition, None)
        if move is not None:
            move.stop()
            self._discard(move.log)

    def futures_in(self, directory: str) -> list[tuple[TopicPartition, int, int]]:
        """The future replicas in a directory, each with its size and how many offsets it lacks."""
        return [
            (topic_partition, move.log.size_in_bytes, move.offset_lag)
            for topic_partition, move in self._moves.items()
            if move.log.directory.path == directory
        ]

    def _remove_later(self, path: str, delay_ms: int) -> None:
        """Remove a file or a directory when its `file.delete.delay.ms` are over, or at an orderly stop."""

        def due() -> None:
            del self._removals[call]
            self._remove(path)

        call = self._reactor.callLater(delay_ms / 1000, due)
        self._removals[call] = path

    def _remove(self, path: str) -> None:
        try:
            if self.disk.is_file(path) or self.disk.is_directory(path):
                self.disk.remove(path)
        except OSError as error:
            for directory in self._on_disk.values():
                if path.startswith(f"{directory.path}/"):
                    directory.failed(error)


def _topic_partition(name: str) -> TopicPartition | None:
    """The log that a directory's name stands for, None for any other directory."""
    topic, dash, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition)) if dash and topic and partition.isdecimal() else None
