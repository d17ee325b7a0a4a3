"""The racks of members and partitions, by which the uniform assignor of 3.7 assigns. Mirrors its RackInfo (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.assignors.preview_order import by_topic_id
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
    from broker_sim.coordinators.groups.assignors.preview_order import Partition

__all__ = ["Racks"]


class Racks:
    """The racks of the members of a group, and of the replicas of the partitions of its topics."""

    def __init__(self, spec: GroupSpec, partitions: Iterable[Partition]) -> None:
        self._members = {member_id: member.rack_id for member_id, member in spec.members.items() if member.rack_id}
        self._partitions = {each: spec.racks_of(*each) for each in partitions} if self._members else {}
        everywhere = {rack for racks in self._partitions.values() for rack in racks}
        self.matter = not everywhere.isdisjoint(self._members.values()) and any(
            racks != everywhere for racks in self._partitions.values()
        )
        """True if a member is in the rack of a partition, and not all partitions are in all racks."""
        self._near: dict[Partition, list[str]] = {
            each: [
                member_id
                for rack in hash_order(sorted(racks))
                for member_id, own in self._members.items()
                if own == rack
            ]
            for each, racks in self._partitions.items()
        }
        """The members in the racks of a partition; the order of the last search stays."""

    def match(self, member_id: str, partition: Partition) -> bool:
        """Return True if a replica of the partition is in the member's rack."""
        return self._members.get(member_id) in self._partitions[partition]

    def in_order(self, partitions: Iterable[Partition]) -> list[Partition]:
        """Return the partitions that have members in their racks, those with the fewest members first."""
        candidates = [each for each in partitions if self._near[each]]
        return sorted(candidates, key=lambda each: (len(self._near[each]), by_topic_id(each)))

    def members_near(self, partition: Partition, size_of: Callable[[str], int]) -> list[str]:
        """Return the members in the racks of a partition, those with the fewest partitions first."""
        self._near[partition].sort(key=size_of)
        return self._near[partition]
