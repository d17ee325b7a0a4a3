"""The interface of assignors, and what they share. Mirrors ConsumerPartitionAssignor and AbstractPartitionAssignor.

An assignor that is not one of Java's inherits from PartitionAssignor, or has the same attributes and methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from broker_client.core.groups.consumer_protocol import Assignment, Subscription
from broker_client.core.groups.hash_order import in_hash_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_client.consumer_groups import ConsumerGroupMetadata
    from broker_client.core.network.cluster import Cluster
    from broker_client.records import TopicPartition

__all__ = [
    "DEFAULT_GENERATION",
    "MemberInfo",
    "PartitionAssignor",
    "PartitionRacks",
    "RebalanceProtocol",
    "TopicPartitionAssignor",
    "needs_rack_awareness",
]

DEFAULT_GENERATION: Final = -1

PartitionRacks = frozenset[str]
"""The racks of a partition's replicas."""


class RebalanceProtocol(IntEnum):
    """EAGER members give up all partitions before they join. Mirrors ConsumerPartitionAssignor.RebalanceProtocol."""

    EAGER = 0
    COOPERATIVE = 1


class PartitionAssignor(ABC):
    """Assigns the partitions of a group on its leader."""

    name: str
    protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return bytes for the leader's assignor, sent with this member's subscription."""
        del topics
        return None

    @abstractmethod
    def assign(self, cluster: Cluster, subscriptions: Mapping[str, Subscription]) -> dict[str, Assignment]:
        """Return the assignment of every member, by member id."""

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Receive this member's assignment when a rebalance has completed."""
        del assignment, metadata


class TopicPartitionAssignor(PartitionAssignor):
    """An assignor that needs the partitions of the subscribed topics and their racks only."""

    def assign(self, cluster: Cluster, subscriptions: Mapping[str, Subscription]) -> dict[str, Assignment]:
        """Assign the partitions of the topics that the metadata has; other topics are left out."""
        members = {member: subscriptions[member] for member in in_hash_order(subscriptions)}
        names = in_hash_order(topic for subscription in members.values() for topic in subscription.topics)
        racks: dict[str, list[PartitionRacks]] = {}
        for topic in names:
            known = cluster.topics.get(topic)
            if known is not None and known.partitions:
                racks[topic] = [_racks_of(cluster, one.replicas) for one in known.partitions]
        assigned = self.assign_partitions(racks, members)
        return {member: Assignment(partitions=assigned[member]) for member in in_hash_order(assigned)}

    @abstractmethod
    def assign_partitions(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Return the partitions of each member; `partitions` has the racks of each partition of each topic."""


@dataclass(slots=True, frozen=True)
class MemberInfo:
    """A member in the order in which assignors serve members: static ones first. Mirrors MemberInfo."""

    member_id: str
    group_instance_id: str | None

    @property
    def order(self) -> tuple[bool, str]:
        """The sort key."""
        if self.group_instance_id is not None:
            return False, self.group_instance_id
        return True, self.member_id


def needs_rack_awareness(consumer_racks: Iterable[str], partitions: Sequence[PartitionRacks]) -> bool:
    """True if racks of members and replicas overlap, and not every partition is in every rack (KIP-881)."""
    all_racks = frozenset(rack for racks in partitions for rack in racks)
    if all_racks.isdisjoint(consumer_racks):
        return False
    return any(racks != all_racks for racks in partitions)


def _racks_of(cluster: Cluster, replicas: Iterable[int]) -> PartitionRacks:
    nodes = [cluster.nodes[replica] for replica in replicas if replica in cluster.nodes]
    return frozenset(node.rack for node in nodes if node.rack is not None)
