"""The specification of a topic: name, partitions, replication factor, configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PARTITIONS_MAX: Final = 10_000
"""The most partitions of a topic, as many as one operation of Kafka's controller creates."""
REPLICAS_MAX: Final = 100_000
"""The most replicas of all topics together of rules and scenario files; each takes some kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """Partition i is led by broker i modulo the brokers, in the order of their ids, and followed by the next ones."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ConfigError for more than PARTITIONS_MAX partitions."""
        check_partitions(self.name, self.partitions)

    def placed_on(self, broker_ids: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the replicas of each partition, the leader first, on as many brokers as there are replicas or more."""
        return [
            tuple(broker_ids[(index + step) % len(broker_ids)] for step in range(self.replication_factor))
            for index in range(self.partitions)
        ]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `name`, `name:partitions` or `name:partitions:replication`. Raises ConfigError."""
        name, *numbers = text.split(":")
        if not name or len(numbers) > 2 or not all(number.isdecimal() and int(number) > 0 for number in numbers):
            msg = f"topic {text!r}: expected name:partitions:replication with numbers above 0, such as orders:6:3"
            raise ConfigError(msg)
        counts = [int(number) for number in numbers]
        return cls(name=name, partitions=(counts or [1])[0], replication_factor=counts[1] if len(counts) > 1 else 1)


def check_partitions(topic: str, partitions: int) -> None:
    """Raise ConfigError for a topic with more than PARTITIONS_MAX partitions."""
    if partitions > PARTITIONS_MAX:
        raise ConfigError(f"topic {topic!r}: {partitions} partitions exceed PARTITIONS_MAX={PARTITIONS_MAX}")


def check_replicas(replicas: int) -> None:
    """Raise ConfigError for more than REPLICAS_MAX replicas of all topics together."""
    if replicas > REPLICAS_MAX:
        raise ConfigError(f"{replicas} replicas of all topics exceed REPLICAS_MAX={REPLICAS_MAX}")
