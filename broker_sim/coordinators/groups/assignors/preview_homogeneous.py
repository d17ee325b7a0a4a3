"""The uniform assignment of 3.7 for members with the same topics. Mirrors OptimizedUniformAssignmentBuilder.

Each member keeps what it has up to the quota, and an extra partition while there are any; with racks only partitions in
its own rack. The rest goes first to members in the racks of the partitions, then to the members in turn.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.assignors.assignor import AssignorError
from broker_sim.coordinators.groups.assignors.preview_order import all_partitions, by_topic_id
from broker_sim.coordinators.groups.assignors.preview_racks import Racks
from broker_sim.coordinators.groups.modern.topic_partitions import ordered
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec, MemberSpec
    from broker_sim.coordinators.groups.assignors.preview_order import Partition
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["PreviewHomogeneousAssignment"]


class PreviewHomogeneousAssignment:
    """One run of the algorithm."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._topic_ids = next(iter(spec.members.values())).topic_ids
        self._result: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in spec.members}
        self._missing: dict[str, int] = {}
        """The members that may get more partitions -> how many they lack to the quota."""
        self._previous_owners: dict[Partition, str] = {}
        """The owners of partitions that are not in their racks."""

    def build(self) -> Mapping[str, TopicPartitions]:
        """Return the assignment by member.

        Raises:
            AssignorError: A topic does not exist, or a partition has no member.
        """
        if not self._topic_ids:
            return {}
        partitions = all_partitions(self._spec, self._topic_ids)
        self._racks = Racks(self._spec, partitions)
        self._quota, self._extras = divmod(len(partitions), len(self._spec.members))
        self._unassigned = dict.fromkeys(partitions)
        for member_id, member in self._spec.members.items():
            self._keep(member_id, member)
        members = hash_order(self._missing)
        if self._racks.matter:
            self._assign_by_racks()
        self._assign_in_turn([member_id for member_id in members if member_id in self._missing])
        if self._unassigned:
            msg = "Partitions were left unassigned"
            raise AssignorError(msg)
        return {
            member_id: {topic_id: frozenset(partitions) for topic_id, partitions in topics.items()}
            for member_id, topics in self._result.items()
        }

    def _keep(self, member_id: str, member: MemberSpec) -> None:
        """Let a member keep what it has within its quota. Mirrors assignStickyPartitions."""
        valid = []
        for topic_id, numbers in ordered(member.target):
            for number in numbers if topic_id in self._topic_ids else ():
                if self._racks.matter and not self._racks.match(member_id, (topic_id, number)):
                    self._previous_owners[topic_id, number] = member_id
                else:
                    valid.append((topic_id, number))
        kept = min(len(valid), self._quota)
        if len(valid) > self._quota and self._extras > 0:
            kept += 1
            self._extras -= 1
        for partition in valid[:kept]:
            self._assign(member_id, partition)
        if len(valid) <= self._quota:
            self._missing[member_id] = self._quota - len(valid)

    def _assign_by_racks(self) -> None:
        """Assign partitions to members in their racks. Mirrors rackAwarePartitionAssignment."""
        for partition in self._racks.in_order(self._unassigned):
            for member_id in self._racks.members_near(partition, self._size_of):
                if member_id in self._missing and self._may_assign(member_id, partition):
                    break

    def _size_of(self, member_id: str) -> int:
        return sum(map(len, self._result[member_id].values()))

    def _assign_in_turn(self, members: list[str]) -> None:
        """Assign the rest, first to previous owners. Mirrors unassignedPartitionsRoundRobinAssignment."""
        turns = deque(members)
        for partition in sorted(self._unassigned, key=by_topic_id):
            owner = self._previous_owners.get(partition)
            if owner is not None and owner in self._missing:
                is_assigned = self._may_assign(owner, partition)
                if owner not in self._missing:
                    turns.remove(owner)
                if is_assigned:
                    continue
            tried = 0
            while tried < len(turns):  # Kafka counts the tries while the queue shrinks
                tried += 1
                member_id = turns.popleft()
                is_assigned = member_id in self._missing and self._may_assign(member_id, partition)
                if member_id in self._missing:
                    turns.append(member_id)
                if is_assigned:
                    break

    def _may_assign(self, member_id: str, partition: Partition) -> bool:
        """Assign a partition if the member lacks one, or an extra one is left. Mirrors maybeAssignPartitionToMember."""
        missing = self._missing[member_id]
        if missing == 0 and self._extras == 0:
            return False
        if missing > 0:
            self._missing[member_id] = missing - 1
            if missing == 1 and self._extras == 0:
                del self._missing[member_id]
        else:
            self._extras -= 1
            del self._missing[member_id]
        self._assign(member_id, partition)
        return True

    def _assign(self, member_id: str, partition: Partition) -> None:
        topic_id, number = partition
        self._result[member_id].setdefault(topic_id, set()).add(number)
        self._unassigned.pop(partition, None)
