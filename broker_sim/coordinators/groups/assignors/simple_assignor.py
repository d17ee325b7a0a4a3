"""Every member of a share group gets every partition of its topics. Mirrors SimpleAssignor of 4.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["SimpleAssignor"]


class SimpleAssignor:
    """Shares each topic among all its subscribers."""

    name: Final = "simple"

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the assignment by member."""
        return {
            member_id: {topic_id: frozenset(range(spec.partitions_of(topic_id))) for topic_id in member.topic_ids}
            for member_id, member in spec.members.items()
        }
