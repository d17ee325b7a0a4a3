"""TopicPartition: the name of one partition. Mirrors org.apache.kafka.common.TopicPartition."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic and a partition index; prints as Kafka prints it, `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
