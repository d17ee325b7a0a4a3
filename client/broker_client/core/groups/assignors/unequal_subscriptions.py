"""The sticky assignment of members that subscribe to different topics.

Mirrors AbstractStickyAssignor.GeneralAssignmentBuilder: members keep what they own, each unassigned partition goes to
the member with the fewest, and partitions then move one by one until no move makes the assignment more balanced.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from broker_client.core.groups.assignors.partition_movements import PartitionMovements
from broker_client.core.groups.hash_order import in_hash_order
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.groups.assignors.assignor import PartitionRacks
    from broker_client.core.groups.assignors.rack_matching import RackMatching
    from broker_client.core.groups.consumer_protocol import Subscription

__all__ = ["UnequalSubscriptions"]

_Assignment = dict[str, list[TopicPartition]]


class UnequalSubscriptions:
    """Build once. `previous` has the owners of partitions in older generations."""

    def __init__(
        self,
        partitions: Mapping[str, Sequence[PartitionRacks]],
        racks: RackMatching,
        owned: Mapping[str, list[TopicPartition]],
        subscriptions: Mapping[str, Subscription],
        previous: Mapping[TopicPartition, tuple[str, int]],
    ) -> None:
        self._partitions = partitions
        self._racks = racks
        self._previous = previous
        self._current: _Assignment = {member: list(owned.get(member, ())) for member in in_hash_order(subscriptions)}
        self._topics = {
            member: [topic for topic in subscriptions[member].topics if topic in partitions] for member in self._current
        }
        self._members: dict[str, list[str]] = {topic: [] for topic in partitions}
        for member, topics in self._topics.items():
            for topic in topics:
                self._members[topic].append(member)
        self._owner = {key: member for member, keys in self._current.items() for key in keys}
        by_demand = sorted(partitions, key=lambda topic: (len(self._members[topic]), topic))
        self._all = [TopicPartition(topic, number) for topic in by_demand for number in range(len(partitions[topic]))]
        self._balanced_members: dict[str, None] = {}
        self._movements = PartitionMovements()
        self._has_revoked = False

    def build(self) -> _Assignment:
        """Return the partitions of every member."""
        kept = self._keep_owned()
        unassigned = [key for key in self._all if key not in kept]
        self._balanced_members = dict.fromkeys(self._current)
        self._balance(unassigned)
        return self._current

    # Details

    def _keep_owned(self) -> dict[TopicPartition, None]:
        kept: dict[TopicPartition, None] = {}
        for member, keys in self._current.items():
            for key in list(keys):
                if key.topic not in self._topics[member] or self._racks.mismatch(member, key):
                    keys.remove(key)
                    self._has_revoked = True
                else:
                    kept[key] = None
        return kept

    def _by_load(self) -> list[str]:
        """The members that take part, those with the fewest partitions first."""
        return sorted(self._balanced_members, key=lambda member: (len(self._current[member]), member))

    def _balance(self, unassigned: list[TopicPartition]) -> None:
        is_initial = not self._current[self._by_load()[-1]]
        to_assign = unassigned
        if self._racks.member_racks:
            to_assign = [key for key in unassigned if not self._assign_one(key, in_rack=True)]
        for key in to_assign:
            self._assign_one(key, in_rack=False)
        movable = [key for key in self._all if len(self._members[key.topic]) > 1]
        unassigned = [key for key in unassigned if len(self._members[key.topic]) > 1]
        fixed = {member: self._current[member] for member in self._current if not self._can_take_part(member)}
        for member in fixed:
            del self._balanced_members[member]
            del self._current[member]
        before = {member: list(keys) for member, keys in self._current.items()}
        if not self._has_revoked:
            self._move_partitions(unassigned)
        has_moved = self._move_partitions(movable)
        if not is_initial and has_moved and _imbalance(self._current) >= _imbalance(before):
            self._current.clear()
            self._current.update(before)
        self._current.update(fixed)

    def _assign_one(self, key: TopicPartition, *, in_rack: bool) -> bool:
        for member in self._by_load():
            if key.topic in self._topics[member] and not (in_rack and self._racks.mismatch(member, key)):
                self._current[member].append(key)
                self._owner[key] = member
                return True
        return False

    def _count_max(self, member: str) -> int:
        return sum(len(self._partitions[topic]) for topic in self._topics[member])

    def _can_take_part(self, member: str) -> bool:
        """True if the member may get another partition, or has one that another member may get."""
        keys = self._current[member]
        return len(keys) < self._count_max(member) or any(len(self._members[key.topic]) > 1 for key in keys)

    def _is_balanced(self) -> bool:
        by_load = self._by_load()
        if not by_load or len(self._current[by_load[0]]) >= len(self._current[by_load[-1]]) - 1:
            return True
        owners = {key: member for member, keys in self._current.items() for key in keys}
        for member in by_load:
            keys = self._current[member]
            if len(keys) == self._count_max(member):
                continue
            for topic in self._topics[member]:
                for number in range(len(self._partitions[topic])):
                    other = owners.get(TopicPartition(topic, number))
                    if other is not None and other != member and len(keys) + 1 < len(self._current[other]):
                        return False
        return True

    def _move_partitions(self, movable: Sequence[TopicPartition]) -> bool:
        """Move partitions until a whole round moves none; return True if any was moved."""
        has_moved = False
        while True:
            has_moved_now = False
            for key in movable:
                if self._is_balanced():
                    break
                has_moved_now = self._move_one(key) or has_moved_now
            has_moved = has_moved or has_moved_now
            if not has_moved_now:
                return has_moved

    def _move_one(self, key: TopicPartition) -> bool:
        load = len(self._current[self._owner[key]])
        earlier = self._previous.get(key)
        if earlier is not None and earlier[0] in self._current and load > len(self._current[earlier[0]]) + 1:
            self._reassign(key, earlier[0])
            return True
        for other in self._members[key.topic]:
            if other in self._current and load > len(self._current[other]) + 1:
                wanted = next(member for member in self._by_load() if key.topic in self._topics[member])
                self._reassign(key, wanted)
                return True
        return False

    def _reassign(self, key: TopicPartition, new_owner: str) -> None:
        moved = self._movements.actual_partition(key, self._owner[key], new_owner)
        old_owner = self._owner[moved]
        self._movements.move(moved, old_owner, new_owner)
        self._current[old_owner].remove(moved)
        self._current[new_owner].append(moved)
        self._owner[moved] = new_owner


def _imbalance(assignment: _Assignment) -> int:
    """The sum of the differences of all pairs of members; 0 is perfectly balanced."""
    return sum(abs(len(one) - len(other)) for one, other in combinations(assignment.values(), 2))
