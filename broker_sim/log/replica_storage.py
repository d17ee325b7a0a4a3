"""A broker's logs in memory, whose records survive every crash of the broker. Mirrors LogManager.

`broker_sim.log.files.file_storage` keeps them on a disk instead.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from broker_sim.config.topic_config import TopicConfig
from broker_sim.errors import BrokerSimError
from broker_sim.log.log_directories import DIRECTORY_BYTES, LogDirectories, LogDirectoryOffline
from broker_sim.log.replica_log import ReplicaLog
from broker_sim.log.verification_states import verifies_transactions
from sim_runtime.disk import DiskSpace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.faults.slow_disks import DiskPace
    from broker_sim.topic_partition import TopicPartition

    ConfigListener = Callable[[TopicPartition, TopicConfig, TopicConfig], None]


UUID_BYTES: Final = 16


class ReplicaStorage:
    """Logs by partition, each with its topic's id: a topic that is deleted and created again gets a new log."""

    def __init__(self, config: BrokerConfig, *, random: Random | None = None, broker_id: int = 0) -> None:
        """Create an empty storage for broker `broker_id`; `random` draws the jitter of segment rolls."""
        self._broker_id = broker_id
        self._broker_config = config
        self._random = random
        self.directories = LogDirectories(config)
        self.directory_failed: Callable[[str], None] = _ignore_directory
        """Called with the name of a directory when it goes offline."""
        self.log_placed: Callable[[TopicPartition, bytes, bytes], None] = _ignore_placement
        """Called with partition, topic id and directory id when a log comes into use."""
        self._logs: dict[TopicPartition, tuple[bytes, ReplicaLog]] = {}
        self._configs: dict[tuple[tuple[str, str], ...], TopicConfig] = {}
        self.compacted_log_appeared: Callable[[], None] = _ignore_compaction
        """Called when a topic configuration has compaction, so that the log cleaner starts."""
        self._listeners: list[ConfigListener] = []
        self._mended: dict[str, None] = {}

    # Lifecycle and directories.

    def open(self, now_ms: int) -> None:
        """Open the logs for a new broker incarnation; repaired directories are online again."""
        for _, log in self._logs.values():
            log.producers.restart(now_ms)
            log.producers.transactions.forget_unreplicated()
        for name in self._mended:
            self.directories.offline.pop(name, None)
        self._mended.clear()

    def close(self, now_ms: int, *, clean_epoch: int | None) -> None:
        """Close the logs: cleanly at the end of the run with that broker epoch, or (None) after a crash."""

    def lose_power(self, random: Random) -> None:  # noqa: ARG002 - for the storage in files
        """Lose all data that is not durable; only a storage with a disk supports it.

        Raises:
            BrokerSimError: the logs are in memory.
        """
        msg = "the logs are in memory, which has no power to lose: give the cluster a data_dir"
        raise BrokerSimError(msg)

    def fail_directory(self, name: str) -> None:
        """Take the directory offline and notify the broker."""
        if name not in self.directories.offline:
            self.directories.offline[name] = None
            self.directory_failed(name)

    def directory_id(self, name: str) -> bytes:
        """Return the unique id of a directory (KIP-858); in memory it is derived from broker id and name."""
        return hashlib.blake2b(f"{self._broker_id} {name}".encode(), digest_size=UUID_BYTES).digest()

    def space(self, name: str, used_bytes: int) -> DiskSpace:  # noqa: ARG002 - for the storage in files
        """Return the disk space of a directory; in memory each directory reports a disk of its own."""
        return DiskSpace(DIRECTORY_BYTES, max(DIRECTORY_BYTES - used_bytes, 0))

    def move(self, topic_partition: TopicPartition, directory: str) -> None:
        """Move a log to another directory, at once in memory, or record the directory for its creation."""
        self.directories.move(topic_partition, directory)
        found = self._logs.get(topic_partition)
        if found is not None:
            self._report_directory(topic_partition, found[0])

    def futures_in(self, directory: str) -> list[tuple[TopicPartition, int, int]]:  # noqa: ARG002 - a move takes no time
        """Return the future replicas in a directory, each with its size and its lag in offsets."""
        return []

    def fill_directory(self, name: str, left_bytes: int) -> None:  # noqa: ARG002 - only a virtual disk can be filled
        """Leave the directory room for `left_bytes` more bytes.

        Raises:
            BrokerSimError: the logs are in memory.
        """
        raise BrokerSimError(f"{name} cannot be filled: give the cluster a data_dir on a VirtualDisk")

    def reload(self, path: str, position: int) -> None:
        """Read the batch at a position of a file again; there are no files in memory."""

    def slow_directory(self, name: str, pace: DiskPace | None) -> None:  # noqa: ARG002 - for files
        """Slow down the directory's disk, or (None) end the slowdown.

        Raises:
            BrokerSimError: the logs are in memory.
        """
        raise BrokerSimError(f"{name} cannot be slow: give the cluster a data_dir")

    def mend_directory(self, name: str) -> None:
        """Repair the directory: it is online again from the next start of the broker."""
        self._mended[name] = None

    # Logs.

    @property
    def logs(self) -> dict[TopicPartition, ReplicaLog]:
        """All logs in online directories."""
        logs = {topic_partition: log for topic_partition, (_, log) in self._logs.items()}
        if self.directories.offline:
            return {each: log for each, log in logs.items() if not self.directories.is_offline(each)}
        return logs

    def topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        """Return the topic's configuration on this broker; topics with the same overrides share it."""
        key = tuple(sorted(overrides.items()))
        config = self._configs.get(key)
        if config is None:
            config = self._configs[key] = TopicConfig.resolve(overrides, self._broker_config)
        if config.compact:
            self.compacted_log_appeared()
        return config

    def on_config_change(self, listener: ConfigListener) -> None:
        """Add a listener, called with partition, old and new configuration. Mirrors UnifiedLog.updateConfig."""
        self._listeners.append(listener)

    def change_config(self, topic_partition: TopicPartition, overrides: Mapping[str, str]) -> None:
        """Apply new topic configurations to the log of a partition, if there is one."""
        found = self._logs.get(topic_partition)
        if found is not None:
            self._set_config(topic_partition, found[1], self.topic_config(overrides))

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply new broker configurations: every log gets its new defaults. Mirrors DynamicLogConfig."""
        self._broker_config = config
        self._configs.clear()
        for topic_partition, (_, log) in self._logs.items():
            log.producers.expiration_ms = config.producer_id_expiration_ms
            log.producers.verifies_transactions = verifies_transactions(config)
            self._set_config(topic_partition, log, self.topic_config(log.config.overrides))

    def use_release(self, config: BrokerConfig) -> None:
        """Keep the logs as a broker of another release from the next `open` on."""
        self.reconfigure(config)
        for _, log in self._logs.values():
            log.use_release(config.behaviour)

    def _set_config(self, topic_partition: TopicPartition, log: ReplicaLog, config: TopicConfig) -> None:
        old = log.config
        log.set_config(config)
        if old.values != config.values:
            for listener in self._listeners:
                listener(topic_partition, old, config)

    def get(self, topic_partition: TopicPartition) -> ReplicaLog | None:
        """Return the log, None when the broker has none."""
        found = self._logs.get(topic_partition)
        return None if found is None else found[1]

    def get_or_create(
        self, topic_partition: TopicPartition, topic_id: bytes, overrides: Mapping[str, str], now_ms: int
    ) -> ReplicaLog:
        """Return the partition's log with the topic's current configuration; a new log is empty.

        Raises:
            LogDirectoryOffline: the log is in a failed directory, or every directory has failed.
        """
        config = self.topic_config(overrides)
        found = self._logs.get(topic_partition)
        if found is not None and found[0] == topic_id:
            if self.directories.is_offline(topic_partition):
                raise LogDirectoryOffline(topic_partition)
            found[1].set_config(config)
            self._report_directory(topic_partition, topic_id)
            return found[1]
        if found is not None:
            self.delete(topic_partition)
        directory = self.directories.place(topic_partition)
        log = self._new_log(topic_partition, topic_id, config, directory, now_ms)
        self._logs[topic_partition] = (topic_id, log)
        self._report_directory(topic_partition, topic_id)
        return log

    def _report_directory(self, topic_partition: TopicPartition, topic_id: bytes) -> None:
        directory = self.directories.of(topic_partition)
        assert directory is not None, "every log is in a directory"
        self.log_placed(topic_partition, topic_id, self.directory_id(directory))

    def _new_log(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,  # noqa: ARG002 - for the storage in files
        config: TopicConfig,
        directory: str,  # noqa: ARG002 - for the storage in files
        now_ms: int,
    ) -> ReplicaLog:
        return self._broker_config.part_types.of(ReplicaLog)(
            topic=topic_partition.topic,
            partition=topic_partition.partition,
            config=config,
            broker_config=self._broker_config,
            now_ms=now_ms,
            random=self._random,
        )

    def delete(self, topic_partition: TopicPartition) -> None:
        """Remove the log, if there is one."""
        self._logs.pop(topic_partition, None)
        self.directories.remove(topic_partition)


def _ignore_compaction() -> None:
    """Do nothing: no log cleaner listens."""


def _ignore_directory(_: str) -> None:
    """Do nothing: no broker listens for failed directories."""


def _ignore_placement(_: TopicPartition, __: bytes, ___: bytes) -> None:
    """Do nothing: no broker listens for placements."""
