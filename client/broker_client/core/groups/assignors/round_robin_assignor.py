"""Deals partitions to members in turn, over all topics. Mirrors RoundRobinAssignor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.assignors.assignor import MemberInfo, PartitionRacks, TopicPartitionAssignor
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.groups.consumer_protocol import Subscription

__all__ = ["RoundRobinAssignor"]


class RoundRobinAssignor(TopicPartitionAssignor):
    """Members that do not subscribe to a partition's topic are passed over."""

    name = "roundrobin"

    def assign_partitions(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Deal the partitions in the order of their topics and numbers."""
        assignment: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
        members = sorted(
            (MemberInfo(member, one.group_instance_id) for member, one in subscriptions.items()),
            key=lambda member: member.order,
        )
        topics = {member: frozenset(one.topics) for member, one in subscriptions.items()}
        index = 0
        for topic in sorted(partitions):
            for number in range(len(partitions[topic])):
                while topic not in topics[members[index].member_id]:
                    index = (index + 1) % len(members)
                assignment[members[index].member_id].append(TopicPartition(topic, number))
                index = (index + 1) % len(members)
        return assignment
