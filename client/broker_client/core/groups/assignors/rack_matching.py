"""Which members are in a rack with a replica of a partition (KIP-881). Mirrors AbstractStickyAssignor.RackInfo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.assignors.assignor import PartitionRacks, needs_rack_awareness
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.groups.consumer_protocol import Subscription

__all__ = ["RackMatching"]


class RackMatching:
    """Empty, and so without effect, unless racks of members and replicas overlap and differ."""

    def __init__(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> None:
        members = {member: one.rack_id for member, one in subscriptions.items() if one.rack_id}
        racks = {
            TopicPartition(topic, number): of_partition
            for topic, of_topic in partitions.items()
            for number, of_partition in enumerate(of_topic)
        }
        self._count_by_partition: dict[TopicPartition, int] = {}
        if members:
            in_rack: dict[str, int] = {}
            for rack in members.values():
                in_rack[rack] = in_rack.get(rack, 0) + 1
            self._count_by_partition = {
                key: sum(in_rack.get(rack, 0) for rack in of_partition) for key, of_partition in racks.items()
            }
        is_needed = needs_rack_awareness(members.values(), list(racks.values()))
        self.member_racks: dict[str, str] = members if is_needed else {}
        self.partition_racks: dict[TopicPartition, PartitionRacks] = racks if is_needed else {}

    def mismatch(self, member: str, key: TopicPartition) -> bool:
        """True if the member has a rack and no replica of the partition is in it."""
        rack = self.member_racks.get(member)
        return rack is not None and rack not in self.partition_racks.get(key, ())

    def fewest_members_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions in the order of how many members are in their racks."""
        if not self._count_by_partition:
            return partitions
        return sorted(partitions, key=lambda key: self._count_by_partition.get(key, 0))

    def next_member(self, key: TopicPartition, members: Sequence[str], first: int) -> int:
        """Return the index of the next member, from `first` around, in a rack of the partition; -1 if there is none."""
        racks = self.partition_racks.get(key)
        if not racks:
            return -1
        for step in range(len(members)):
            index = (first + step) % len(members)
            if self.member_racks.get(members[index]) in racks:
                return index
        return -1
