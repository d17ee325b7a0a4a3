"""The log directories of a broker, and the replicas in each (KIP-113).

Mirrors LogManager's parentDir, nextLogDirs and preferredLogDirs.

The directories are those of `log.dirs`, else of `log.dir`; a storage in memory only uses their names. A new log goes
to the directory that a client requested (AlterReplicaLogDirs), else to the one with the fewest logs. In memory a move
takes no time, so future replicas do not exist. A failed directory gets no new logs, and its own are unavailable.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.definitions import ConfigValue
    from broker_sim.topic_partition import TopicPartition

DIRECTORY_BYTES: Final = 1 << 40
"""The disk size that each directory reports."""


class LogDirectoryOffline(BrokerSimError):
    """The replica's directory has failed. Mirrors KafkaStorageException."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        super().__init__(topic_partition)
        self.topic_partition = topic_partition

    def __str__(self) -> str:
        return f"the log directory of {self.topic_partition} is offline"


class LogDirectories:
    """The directories of one broker, and the replicas in them."""

    def __init__(self, config: BrokerConfig) -> None:
        configured = config["log.dirs"]
        self.names: tuple[str, ...] = _names(config["log.dir"] if configured is None else configured)
        self.cordoned: tuple[str, ...] = _names(config.values.get("cordoned.log.dirs") or [])
        self.offline: dict[str, None] = {}
        """The failed directories, in the order of their failures."""
        self._replicas: dict[TopicPartition, str] = {}
        self._counts = dict.fromkeys(self.names, 0)
        self._preferred: dict[TopicPartition, str] = {}

    def of(self, topic_partition: TopicPartition) -> str | None:
        """Return the directory of a replica, None when there is none."""
        return self._replicas.get(topic_partition)

    def replicas_in(self, directory: str) -> list[TopicPartition]:
        """Return the replicas in a directory."""
        return [topic_partition for topic_partition, name in self._replicas.items() if name == directory]

    def place(self, topic_partition: TopicPartition) -> str:
        """Choose the directory of a new log.

        Raises:
            LogDirectoryOffline: every directory has failed.
        """
        directory = self._preferred.pop(topic_partition, None)
        if directory is None or directory in self.offline:
            online = [name for name in self._counts if name not in self.offline]
            if not online:
                raise LogDirectoryOffline(topic_partition)
            directory = min(online, key=self._counts.__getitem__)
        self.put(topic_partition, directory)
        return directory

    def put(self, topic_partition: TopicPartition, directory: str) -> None:
        """Record the directory of a replica."""
        self.remove(topic_partition)
        self._replicas[topic_partition] = directory
        self._counts[directory] += 1

    def prefer(self, topic_partition: TopicPartition, directory: str) -> None:
        """Record the directory for a replica that this broker does not have yet."""
        self._preferred[topic_partition] = directory

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Return True if the replica is in a failed directory."""
        return bool(self.offline) and self._replicas.get(topic_partition) in self.offline

    def move(self, topic_partition: TopicPartition, directory: str) -> None:
        """Move a replica, or record the directory for its creation. The directory is one of `names`."""
        self._preferred[topic_partition] = directory
        if topic_partition in self._replicas:
            self.place(topic_partition)

    def remove(self, topic_partition: TopicPartition) -> None:
        """Remove a replica whose log is deleted."""
        directory = self._replicas.pop(topic_partition, None)
        if directory is not None:
            self._counts[directory] -= 1


def directory_path(text: str) -> str:
    """Return a configured path as a normalized absolute path."""
    return posixpath.normpath(posixpath.join("/", text.strip()))


def _names(value: ConfigValue) -> tuple[str, ...]:
    """Return the absolute paths of a list; older releases have the list as one text."""
    items = value if isinstance(value, list) else str(value).split(",")
    return tuple(dict.fromkeys(directory_path(item) for item in items))
