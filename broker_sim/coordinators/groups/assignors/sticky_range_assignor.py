"""The range assignor up to 3.8, whose members keep what they have. Mirrors RangeAssignor of 3.7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["StickyRangeAssignor"]


class StickyRangeAssignor:
    """Deals each topic in ranges to its subscribers, beside the partitions that they have within their quota."""

    name: Final = "range"

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the new assignment by member.

        Raises:
            AssignorError: A topic does not exist.
        """
        subscribers: dict[bytes, list[str]] = {}
        for member_id, member in spec.members.items():
            for topic_id in member.topic_ids:
                subscribers.setdefault(topic_id, []).append(member_id)
        assignments: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in spec.members}
        for topic_id, members in subscribers.items():
            for member_id, partitions in _assigned(spec, topic_id, members).items():
                if partitions:
                    assignments[member_id][topic_id] = frozenset(partitions)
        return assignments


def _assigned(spec: GroupSpec, topic_id: bytes, members: list[str]) -> dict[str, list[int]]:
    """Return the partitions of one topic by member."""
    count = spec.partitions_of(topic_id)
    quota, extras = divmod(count, len(members))
    assigned: dict[str, list[int]] = {}
    missing: dict[str, int] = {}
    for member_id in members:
        held = sorted(spec.members[member_id].target.get(topic_id, ()))
        keeps_extra = len(held) > quota and extras > 0
        extras -= keeps_extra
        assigned[member_id] = held[: quota + keeps_extra]
        if not keeps_extra:
            missing[member_id] = quota - len(held)
    kept = {partition for partitions in assigned.values() for partition in partitions}
    free = [partition for partition in range(count) if partition not in kept]
    start = 0
    for member_id, lacking in missing.items():
        wanted = lacking + (extras > 0)
        extras -= extras > 0
        end = start + max(wanted, 0)
        assigned[member_id] += free[start:end]
        start = end
    return assigned
