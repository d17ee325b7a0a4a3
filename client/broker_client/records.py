"""The data types of records and partitions.

Mirrors TopicPartition, ProducerRecord's headers, RecordMetadata and PartitionInfo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "NO_OFFSET",
    "NO_TIMESTAMP",
    "UNKNOWN_PARTITION",
    "Headers",
    "PartitionInfo",
    "RecordMetadata",
    "TopicPartition",
]

NO_OFFSET: Final = -1
NO_TIMESTAMP: Final = -1
UNKNOWN_PARTITION: Final = -1

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class TopicPartition(NamedTuple):
    """A partition of a topic; its text is Kafka's, `topic-0`."""

    topic: str
    partition: int

    @classmethod
    def of(cls, given: object) -> TopicPartition:
        """Return the partition of a (topic, partition) pair. Raises TypeError for anything else."""
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], int):
            return cls(*given)
        raise TypeError(f"expected a TopicPartition or a pair (topic, partition), not {given!r}")

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True, kw_only=True, frozen=True)
class RecordMetadata:
    """The place of a written record.

    Offset, timestamp (ms) and sizes (bytes) are -1 if there is none (acks=0, null key, failure).
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    serialized_key_size: int
    serialized_value_size: int

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition together."""
        return TopicPartition(self.topic, self.partition)


@dataclass(slots=True, kw_only=True, frozen=True)
class PartitionInfo:
    """A partition in the metadata; `leader` is None while there is none."""

    topic: str
    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
