"""The uniform assignment of 3.7 for members with different topics. Mirrors GeneralUniformAssignmentBuilder.

Members keep what they have; each other partition goes to the least loaded subscriber; then partitions move, one by one,
to less loaded subscribers until no move makes the loads more equal. With racks, members keep only partitions in their
own rack, and those in the rack of a partition come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.assignors.assignor import AssignorError, UnexpectedAssignorError
from broker_sim.coordinators.groups.assignors.partition_movements import PartitionMovements
from broker_sim.coordinators.groups.assignors.preview_order import all_partitions, copied_set_order, member_rank
from broker_sim.coordinators.groups.assignors.preview_racks import Racks
from broker_sim.coordinators.groups.modern.topic_partitions import ordered
from protocol_specs.java_hash import hash_order_of_uuids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.assignors.preview_order import Partition
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["PreviewHeterogeneousAssignment"]

_NO_ASSIGNMENT: Final = (
    'Cannot invoke "org.apache.kafka.coordinator.group.assignor.MemberAssignment.targetPartitions()" because the '
    'return value of "java.util.Map.get(Object)" is null'
)
"""A member without topics has no assignment: the text of a NullPointerException."""


class PreviewHeterogeneousAssignment:
    """One run of the algorithm."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._subscribers: dict[bytes, list[str]] = {}
        for member_id, member in spec.members.items():
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(member_id)
        self._most = {
            member_id: sum(spec.partitions_of(topic_id) for topic_id in member.topic_ids)
            for member_id, member in spec.members.items()
        }
        self._loads = dict.fromkeys(spec.members, 0)
        self._open = {member_id for member_id, most in self._most.items() if most > 0}
        """The members to which partitions may move."""
        self._owners: dict[Partition, str] = {}
        self._movements = PartitionMovements()
        self._previous_owners: dict[Partition, str] = {}
        """The owners of partitions that are not in their racks."""

    def build(self) -> Mapping[str, TopicPartitions]:
        """Return the assignment by member.

        Raises:
            AssignorError: A topic does not exist, or Kafka's algorithm fails.
        """
        if not self._subscribers:
            return {}
        partitions = copied_set_order(all_partitions(self._spec, self._subscribers))
        self._racks = Racks(self._spec, partitions)
        for member_id, member in self._spec.members.items():
            for topic_id, numbers in ordered(member.target):
                for number in numbers if topic_id in member.topic_ids else ():
                    self._keep((topic_id, number), member_id)
        self._sticky = frozenset(self._owners)
        if self._racks.matter:
            self._assign_by_racks([each for each in partitions if each not in self._owners])
        for partition in self._sorted(each for each in partitions if each not in self._owners):
            previous = self._previous_owners.get(partition)
            if previous is None or not self._may_add(partition, previous):
                self._add(partition, self._least_loaded(partition[0]))
        self._balance(partitions)
        result: dict[str, dict[bytes, set[int]]] = {
            member_id: {} for member_id, member in self._spec.members.items() if member.topic_ids
        }
        for (topic_id, number), owner in self._owners.items():
            result[owner].setdefault(topic_id, set()).add(number)
        return {
            member_id: {topic_id: frozenset(numbers) for topic_id, numbers in topics.items()}
            for member_id, topics in result.items()
        }

    def _keep(self, partition: Partition, member_id: str) -> None:
        if self._racks.matter and not self._racks.match(member_id, partition):
            self._previous_owners[partition] = member_id
        else:
            self._add(partition, member_id)

    def _assign_by_racks(self, partitions: list[Partition]) -> None:
        """Assign partitions to members in their racks. Mirrors rackAwarePartitionAssignment."""
        for partition in self._racks.in_order(partitions):
            for member_id in self._racks.members_near(partition, self._loads.__getitem__):
                if self._may_add(partition, member_id):
                    break

    def _may_add(self, partition: Partition, member_id: str) -> bool:
        """Assign a partition to a subscriber that has room for it. Mirrors maybeAssignPartitionToMember."""
        has_room = self._loads[member_id] < self._most[member_id]
        if has_room and partition[0] in self._spec.members[member_id].topic_ids:
            self._add(partition, member_id)
            return True
        return False

    def _least_loaded(self, topic_id: bytes) -> str:
        members = (each for each in self._subscribers[topic_id] if self._loads[each] < self._most[each])
        return min(members, key=self._rank)

    def _rank(self, member_id: str) -> tuple[int, bytes]:
        return self._loads[member_id], member_rank(member_id)

    def _sorted(self, partitions: Iterable[Partition]) -> list[Partition]:
        """Return partitions of topics with the most of them per subscriber first. Mirrors sortTopicIdPartitions."""

        def rank(partition: Partition) -> tuple[float, int, int]:
            topic_id, number = partition
            subscribers = len(self._subscribers[topic_id])
            return -(self._spec.partitions_of(topic_id) / subscribers), subscribers, number

        return sorted(partitions, key=rank)

    # The balance.

    def _balance(self, partitions: list[Partition]) -> None:
        for member_id, member in self._spec.members.items():
            if not member.topic_ids:
                raise UnexpectedAssignorError(_NO_ASSIGNMENT)
            if self._loads[member_id] >= self._most[member_id] and not self._shares_a_topic(member_id):
                self._open.discard(member_id)
        self._movable = dict.fromkeys(each for each in partitions if len(self._subscribers[each[0]]) > 1)
        modified = bool(self._movable)
        while modified:
            modified = False
            moved = False
            for partition in self._sorted(self._movable):
                if moved and self._is_balanced():
                    return
                moved = self._move_if_unequal(partition)
                modified = modified or moved

    def _shares_a_topic(self, member_id: str) -> bool:
        return any(
            len(self._subscribers[topic_id]) > 1 for (topic_id, _), owner in self._owners.items() if owner == member_id
        )

    def _move_if_unequal(self, partition: Partition) -> bool:
        """Move a partition of this topic if a member has two partitions fewer than its owner; return whether."""
        new_owner = self._new_owner(partition)
        if new_owner is None:
            return False
        moved = self._movements.partition_to_move(partition, self._owners[partition], new_owner)
        old_owner = self._owners[moved]
        self._movements.move(moved, old_owner, new_owner)
        del self._owners[moved]
        self._movable.pop(moved, None)
        self._change_load(old_owner, -1)
        self._add(moved, new_owner)
        return True

    def _new_owner(self, partition: Partition) -> str | None:
        """Return the member to which a partition moves: in its rack, the previous owner, then any subscriber."""
        owner = self._owners[partition]
        load = self._loads[owner]
        if self._racks.matter:
            if self._racks.match(owner, partition):
                for other in self._racks.members_near(partition, self._loads.__getitem__):
                    if other in self._open and load > self._loads[other] + 1:
                        return other  # even one that does not subscribe to the topic
            previous = None if partition in self._sticky else self._previous_owners.get(partition)
            if previous is not None and load > self._loads[previous] + 1:
                return previous
        if all(load <= self._loads[other] + 1 for other in self._subscribers[partition[0]]):
            return None
        found = next((each for each in self._in_order() if partition[0] in self._spec.members[each].topic_ids), None)
        if found is None:
            msg = f"No suitable new owner was found for the partition{partition}"
            raise AssignorError(msg)
        return found

    def _is_balanced(self) -> bool:
        members = self._in_order()
        if not members:
            raise UnexpectedAssignorError  # NoSuchElementException has no text
        if self._loads[members[0]] >= self._loads[members[-1]] - 1:
            return True
        return not any(
            self._loads[member_id] + 1 < self._loads[self._owners[topic_id, number]]
            for member_id in members
            if self._loads[member_id] != self._most[member_id]
            for topic_id in hash_order_of_uuids(self._spec.members[member_id].topic_ids)
            for number in range(self._spec.partitions_of(topic_id))
            if self._owners[topic_id, number] != member_id
        )

    def _in_order(self) -> list[str]:
        return sorted(self._open, key=self._rank)

    def _add(self, partition: Partition, member_id: str) -> None:
        self._owners[partition] = member_id
        self._change_load(member_id, 1)

    def _change_load(self, member_id: str, difference: int) -> None:
        self._loads[member_id] = max(self._loads[member_id] + difference, 0)
        if self._loads[member_id] < self._most[member_id]:
            self._open.add(member_id)
        else:
            self._open.discard(member_id)
