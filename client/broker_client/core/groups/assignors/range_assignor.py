"""Gives each member a range of every topic. Mirrors RangeAssignor, with racks (KIP-881)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.assignors.assignor import (
    MemberInfo,
    PartitionRacks,
    TopicPartitionAssignor,
    needs_rack_awareness,
)
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.core.groups.consumer_protocol import Subscription

__all__ = ["RangeAssignor"]

_Assigned = dict[str, list[TopicPartition]]


class _TopicRanges:
    """The state of one topic: its members in order, its unassigned partitions, and how many a member may still get."""

    def __init__(self, topic: str, racks: Sequence[PartitionRacks], members: Mapping[str, str | None]) -> None:
        self.topic = topic
        self.members = members
        self.racks = racks
        self.unassigned = dict.fromkeys(TopicPartition(topic, number) for number in range(len(racks)))
        self.is_rack_aware = needs_rack_awareness([rack for rack in members.values() if rack], racks)
        self._counts = dict.fromkeys(members, 0)
        self._quota, self._extra = divmod(len(racks), len(members)) if members else (0, 0)

    def racks_match(self, member: str, partition: int) -> bool:
        """True if the member has no rack, or a replica of the partition is in it."""
        rack = self.members[member]
        return rack is None or rack in self.racks[partition]

    def room(self, member: str) -> int:
        """Return how many more partitions the member may get."""
        return max(0, self._quota + (1 if self._extra > 0 else 0) - self._counts[member])

    def assign(self, member: str, partitions: Sequence[TopicPartition], assigned: _Assigned) -> None:
        """Give unassigned partitions to a member."""
        assigned[member].extend(partitions)
        self._counts[member] += len(partitions)
        if self._counts[member] > self._quota:
            self._extra -= 1
        for partition in partitions:
            del self.unassigned[partition]

    def assign_ranges(self, matches: Callable[[str, int], bool], assigned: _Assigned) -> None:
        """Give each member in order the first partitions that match, up to its share."""
        for member in self.members:
            matching = [key for key in self.unassigned if matches(member, key.partition)][: self.room(member)]
            if matching:
                self.assign(member, matching, assigned)


class RangeAssignor(TopicPartitionAssignor):
    """Topics with equal members and partition counts get equal ranges (co-partitioning)."""

    name = "range"

    def assign_partitions(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign topic by topic; where racks matter, partitions with a replica in the member's rack first."""
        racks = {member: one.rack_id or None for member, one in subscriptions.items()}
        assigned: _Assigned = {member: [] for member in subscriptions}
        topics = [
            _TopicRanges(topic, of_topic, {member: racks[member] for member in _members_of(topic, subscriptions)})
            for topic, of_topic in partitions.items()
        ]
        is_rack_aware = any(topic.is_rack_aware for topic in topics)
        if is_rack_aware:
            _assign_in_racks(topics, assigned)
        for topic in topics:
            topic.assign_ranges(lambda _member, _partition: True, assigned)
        if is_rack_aware:
            for of_member in assigned.values():
                of_member.sort()
        return assigned


def _members_of(topic: str, subscriptions: Mapping[str, Subscription]) -> list[str]:
    members = [
        MemberInfo(member, one.group_instance_id) for member, one in subscriptions.items() if topic in one.topics
    ]
    return [member.member_id for member in sorted(members, key=lambda one: one.order)]


def _assign_in_racks(topics: Sequence[_TopicRanges], assigned: _Assigned) -> None:
    groups: dict[tuple[tuple[tuple[str, str | None], ...], int], list[_TopicRanges]] = {}
    for topic in topics:
        groups.setdefault((tuple(topic.members.items()), _count_with_racks(topic)), []).append(topic)
    for (members, count), alike in groups.items():
        if len(alike) > 1:
            _assign_together([member for member, _ in members], count, alike, assigned)
        elif alike[0].is_rack_aware:
            alike[0].assign_ranges(alike[0].racks_match, assigned)


def _count_with_racks(topic: _TopicRanges) -> int:
    return len(topic.racks) if any(topic.members.values()) else 0


def _assign_together(members: list[str], count: int, topics: Sequence[_TopicRanges], assigned: _Assigned) -> None:
    remaining = dict.fromkeys(members)
    for number in range(count):
        member = next(
            (
                one
                for one in remaining
                if all(topic.racks_match(one, number) and topic.room(one) > 0 for topic in topics)
            ),
            None,
        )
        if member is None:
            continue
        for topic in topics:
            topic.assign(member, [TopicPartition(topic.topic, number)], assigned)
        if not any(topic.room(member) > 0 for topic in topics):
            del remaining[member]
            if not remaining:
                return
