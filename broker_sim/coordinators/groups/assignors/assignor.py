"""The interface of server-side assignors. Mirrors PartitionAssignor, GroupSpec and SubscribedTopicDescriber."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = [
    "AssignorError",
    "GroupSpec",
    "MemberSpec",
    "PartitionAssignor",
    "RacksOf",
    "UnexpectedAssignorError",
    "no_racks",
]


RacksOf: TypeAlias = "Callable[[bytes, int], AbstractSet[str]]"
"""Topic id and partition -> the racks of its replicas."""


class AssignorError(BrokerSimError):
    """No assignment can be computed. Mirrors PartitionAssignorException."""


class UnexpectedAssignorError(AssignorError):
    """A defect of Kafka's algorithm ends it, such as a NullPointerException; the text is that of Java 17."""


def no_racks(topic_id: bytes, partition: int) -> AbstractSet[str]:  # noqa: ARG001
    """Return no racks, for the assignors that do not use them."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member as an assignor sees it; its topic ids are in the order of its subscription."""

    topic_ids: Mapping[bytes, None]
    target: TopicPartitions = field(default_factory=dict)
    """The target assignment so far."""
    instance_id: str | None = None
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The members in the order in which Kafka iterates over them."""

    members: Mapping[str, MemberSpec]
    homogeneous: bool
    """All members subscribe to the same topics."""
    partition_counts: Mapping[bytes, int]
    """The number of partitions per subscribed topic that exists."""
    assigned: AbstractSet[tuple[bytes, int]] = frozenset()
    """The partitions that are in the target assignment of a member so far."""
    racks_of: RacksOf = no_racks
    """The racks of the replicas of a partition, where assignors use them."""

    def partitions_of(self, topic_id: bytes) -> int:
        """Return the number of partitions of a topic.

        Raises:
            AssignorError: The topic does not exist.
        """
        count = self.partition_counts.get(topic_id)
        if count is None:
            msg = "Members are subscribed to a topic which doesn't exist in the topic metadata."
            raise AssignorError(msg)
        return count


class PartitionAssignor(Protocol):
    """Computes the target assignment of a group. A member without partitions may be absent from the result."""

    @property
    def name(self) -> str:
        """The name in configurations and requests."""

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the new target assignment by member.

        Raises:
            AssignorError: No assignment can be computed.
        """
