"""Equal numbers of partitions for members, with few changes. Mirrors UniformAssignor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.assignors.uniform_heterogeneous import HeterogeneousAssignment
from broker_sim.coordinators.groups.assignors.uniform_homogeneous import HomogeneousAssignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["UniformAssignor"]


class UniformAssignor:
    """Chooses the algorithm by the subscriptions of the members."""

    name: Final = "uniform"

    def __init__(self, *, extras_stay: bool = True) -> None:
        """With `extras_stay` (4.1 and later) members keep the extra partition that they have."""
        self._extras_stay = extras_stay

    def assign(self, spec: GroupSpec) -> Mapping[str, TopicPartitions]:
        """Return the new assignment by member."""
        if not spec.members:
            return {}
        if spec.homogeneous:
            return HomogeneousAssignment(spec, extras_stay=self._extras_stay).build()
        return HeterogeneousAssignment(spec).build()
