"""Which log directory holds which replica (KIP-113). Mirrors LogManager's parentDir, nextLogDirs and preferredLogDirs.

The directories are those of `log.dirs`, else of `log.dir`; in memory they are but names. A new log goes where a client
has wished it, else where the fewest logs are. In memory a move takes no time, so that there is never a future replica.
A directory that has failed gets no new logs, and keeps those that it has from everybody.
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
"""The size of the disk that each directory seems to have."""


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
        """Those that have failed."""
        self._replicas: dict[TopicPartition, str] = {}
        self._counts = dict.fromkeys(self.names, 0)
        self._preferred: dict[TopicPartition, str] = {}

    def of(self, topic_partition: TopicPartition) -> str | None:
        """The directory of a replica, None when there is none."""
        return self._replicas.get(topic_partition)

    def replicas_in(self, directory: str) -> list[TopicPartition]:
        """What is in a directory."""
        return [topic_partition for topic_partition, name in self._replicas.items() if name == directory]

    def place(self, topic_partition: TopicPartition) -> str:
        """Give a new log its directory."""
        directory = self._preferred.pop(topic_partition, None)
        if directory is None or directory in self.offline:
            online = [name for name in self._counts if name not in self.offline]
            if not online:
                raise LogDirectoryOffline(topic_partition)
            directory = min(online, key=self._counts.__getitem__)
        self.put(topic_partition, directory)
        return directory

    def put(self, topic_partition: TopicPartition, directory: str) -> None:
        """A replica is in a directory."""
        self.remove(topic_partition)
        self._replicas[topic_partition] = directory
        self._counts[directory] += 1

    def prefer(self, topic_partition: TopicPartition, directory: str) -> None:
        """Note where a replica is to be when it comes."""
        self._preferred[topic_partition] = directory

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Whether the replica is in a directory that has failed."""
        return bool(self.offline) and self._replicas.get(topic_partition) in self.offline

    def move(self, topic_partition: TopicPartition, directory: str) -> None:
        """Move a replica, or note where it is to be when it comes. The directory is one of `names`."""
        self._preferred[topic_partition] = directory
        if topic_partition in self._replicas:
            self.place(topic_partition)

    def remove(self, topic_partition: TopicPartition) -> None:
        """Forget a replica whose log is deleted."""
        directory = self._replicas.pop(topic_partition, None)
        if directory is not None:
            self._counts[directory] -= 1


def directory_path(text: str) -> str:
    """The absolute path that a configuration means."""
    return posixpath.normpath(posixpath.join("/", text.strip()))


def _names(value: ConfigValue) -> tuple[str, ...]:
    """The absolute paths in a list, which older releases have as one text."""
    items = value if isinstance(value, list) else str(value).split(",")
    return tuple(dict.fromkeys(directory_path(item) for item in items))
