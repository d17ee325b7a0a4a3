"""The uniform assignment of members with the same topics. Mirrors UniformHomogeneousAssignmentBuilder.

Each member keeps what it has within its quota; the rest is dealt to the members below their quota, in order. If the
partitions cannot be divided equally, some members have an extra one: from 4.1 on those that have it already, and after
them the last members, so that fewer partitions move; before, the first members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.topic_partitions import ListedPartitions, ordered
from protocol_specs.java_hash import IntegerSet, hash_order_of_uuids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["HomogeneousAssignment"]


class HomogeneousAssignment:
    """One run of the algorithm."""

    def __init__(self, spec: GroupSpec, *, extras_stay: bool = True) -> None:
        self._spec = spec
        self._extras_stay = extras_stay
        self._topic_ids = hash_order_of_uuids(next(iter(spec.members.values())).topic_ids)
        self._unassigned: list[tuple[bytes, int]] = []
        self._unfilled: list[tuple[str, int]] = []
        """Members below their quota, and the number of partitions that they lack."""
        self._result: dict[str, dict[bytes, IntegerSet]] = {}

    def build(self) -> Mapping[str, TopicPartitions]:
        """Return the assignment by member."""
        if not self._topic_ids:
            return {}
        total = 0
        for topic_id in self._topic_ids:
            count = self._spec.partitions_of(topic_id)
            total += count
            self._unassigned += [
                (topic_id, partition) for partition in range(count) if (topic_id, partition) not in self._spec.assigned
            ]
        self._keep_within_quotas(total)
        self._deal()
        return {
            member_id: {topic_id: ListedPartitions.of(partitions.listed()) for topic_id, partitions in topics.items()}
            for member_id, topics in self._result.items()
        }

    def _keep_within_quotas(self, total: int) -> None:
        topic_ids = frozenset(self._topic_ids)
        quota, extras = divmod(total, len(self._spec.members))
        members_left = len(self._spec.members)
        for member_id, member in self._spec.members.items():
            has_extra = extras > 0
            left = quota + has_extra
            kept: dict[bytes, IntegerSet] = {}
            for topic_id, partitions in ordered(member.target):
                if topic_id not in topic_ids:
                    continue
                if partitions[:left]:
                    kept[topic_id] = IntegerSet(partitions)
                    for partition in partitions[left:]:
                        kept[topic_id].discard(partition)
                self._unassigned += [(topic_id, partition) for partition in partitions[left:]]
                left -= len(partitions[:left])
            if has_extra and left and self._extras_stay and extras < members_left:
                left, has_extra = left - 1, False
            extras -= has_extra
            members_left -= 1
            if left > 0:
                self._unfilled.append((member_id, left))
            self._result[member_id] = kept

    def _deal(self) -> None:
        rest = iter(self._unassigned)
        for member_id, lacking in self._unfilled:
            topics = self._result[member_id]
            for _ in range(lacking):
                topic_id, partition = next(rest, (b"", -1))
                if partition < 0:
                    return
                topics.setdefault(topic_id, IntegerSet()).add(partition)
