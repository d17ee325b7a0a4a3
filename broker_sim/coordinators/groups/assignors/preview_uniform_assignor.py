"""The uniform assignor of 3.7, the first preview of consumer groups. Mirrors UniformAssignor of 3.7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.assignors.preview_heterogeneous import PreviewHeterogeneousAssignment
from broker_sim.coordinators.groups.assignors.preview_homogeneous import PreviewHomogeneousAssignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["PreviewUniformAssignor"]


class PreviewUniformAssignor:
    """Chooses the algorithm by the subscriptions of the members."""

    name: Final = "uniform"

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the new assignment by member.

        Raises:
            AssignorError: No assignment can be computed.
        """
        if not spec.members:
            return {}
        subscriptions = [member.topic_ids.keys() for member in spec.members.values()]
        if all(topic_ids == subscriptions[0] for topic_ids in subscriptions):
            return PreviewHomogeneousAssignment(spec).build()
        return PreviewHeterogeneousAssignment(spec).build()
