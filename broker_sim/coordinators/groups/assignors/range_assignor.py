"""Contiguous ranges of each topic's partitions, co-partitioned where possible. Mirrors RangeAssignor with RangeSet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.modern.topic_partitions import ListedPartitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["RangeAssignor"]


class RangeAssignor:
    """Deals each topic in ranges to its subscribers: static members by instance id, then the others by member id."""

    name: Final = "range"

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the ranges by member; what members had before does not matter."""
        order = sorted(spec.members, key=lambda member_id: _rank(member_id, spec.members[member_id].instance_id))
        subscribers: dict[bytes, list[str]] = {}
        if spec.homogeneous:
            subscribers = dict.fromkeys(spec.members[order[0]].topic_ids if order else (), order)
        else:
            for member_id in order:
                for topic_id in spec.members[member_id].topic_ids:
                    subscribers.setdefault(topic_id, []).append(member_id)
        assignments: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in order}
        for topic_id, member_ids in subscribers.items():
            quota, extra = divmod(spec.partitions_of(topic_id), len(member_ids))
            start = 0
            for index, member_id in enumerate(member_ids):
                end = start + quota + (index < extra)
                if start < end:
                    assignments[member_id][topic_id] = ListedPartitions.of(range(start, end))
                start = end
        return assignments


def _rank(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    """Order as String.compareTo does, by UTF-16 units."""
    text = member_id if instance_id is None else instance_id
    return instance_id is None, text.encode("utf-16-be", "surrogatepass")
