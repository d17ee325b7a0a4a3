"""A member of a consumer group in 3.7's preview. Mirrors ConsumerGroupMember of 3.7."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
from broker_sim.coordinators.groups.modern.topic_partitions import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["PreviewMember"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewMember(ConsumerMember):
    """Remembers the target assignment towards which it goes; later releases compute its steps anew."""

    target_epoch: int = 0
    """The epoch of that target assignment; the member's own epoch follows when nothing is left to revoke."""
    pending_assignment: TopicPartitions = field(default_factory=dict)
    """The partitions of the target that other members have not released yet."""
    listed: Mapping[tuple[str, bytes], list[int]] = field(default_factory=dict, compare=False)
    """After a step: field and topic id -> its partitions in the order of Kafka's sets."""

    def topics_of(self, name: str, topic_type: Callable[..., T]) -> list[T]:
        """Return `topic_type(topic_id=..., partitions=...)` for each topic of a field, as records and responses do."""
        return [
            topic_type(topic_id=topic_id, partitions=self.listed.get((name, topic_id), partitions))
            for topic_id, partitions in ordered(getattr(self, name))
        ]

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return True if nothing is left to do for the target assignment of an epoch."""
        return self.is_stable and self.target_epoch == assignment_epoch
