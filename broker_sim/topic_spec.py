"""The specification of a topic: name, partitions, replication factor, configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """Partition i is led by broker i modulo the brokers, in the order of their ids, and followed by the next ones."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)

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
