"""The sticky assignment of members that all subscribe to the same topics.

Mirrors AbstractStickyAssignor.ConstrainedAssignmentBuilder: every member keeps what it owns up to its quota, and the
rest is dealt in the order of topics and numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.hash_order import in_hash_order
from broker_client.errors import IllegalState
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.groups.assignors.assignor import PartitionRacks
    from broker_client.core.groups.assignors.rack_matching import RackMatching

__all__ = ["EqualSubscriptions"]


class EqualSubscriptions:
    """Build once; `transfers` then has the new owners of partitions that change theirs."""

    def __init__(
        self,
        partitions: Mapping[str, Sequence[PartitionRacks]],
        racks: RackMatching,
        owned: Mapping[str, list[TopicPartition]],
        claimed_twice: Mapping[TopicPartition, None],
    ) -> None:
        self._partitions = partitions
        self._racks = racks
        self._owned = owned
        self._claimed_twice = claimed_twice
        count = sum(len(of_topic) for of_topic in partitions.values())
        self._quota_min, over = divmod(count, len(owned))
        self._quota_max = self._quota_min + (1 if over else 0)
        self._over_left = over
        """How many more members may have the larger quota."""
        self._under: list[str] = []
        self._exact: list[str] = []
        self._assignment: dict[str, list[TopicPartition]] = {member: [] for member in in_hash_order(owned)}
        self._maybe_revoked: dict[TopicPartition, str] = {}
        self.transfers: dict[TopicPartition, str] = {}

    def build(self) -> dict[str, list[TopicPartition]]:
        """Return the partitions of every member."""
        self._keep_owned()
        taken = {key for partitions in self._assignment.values() for key in partitions}
        unassigned = [
            key
            for topic in sorted(self._partitions)
            for number in range(len(self._partitions[topic]))
            if (key := TopicPartition(topic, number)) not in taken
        ]
        self._under.sort()
        self._exact.sort()
        unassigned = self._racks.fewest_members_first(unassigned)
        self._deal(self._deal_in_racks(unassigned))
        if self._under and any(len(self._assignment[member]) != self._quota_min for member in self._under):
            raise IllegalState("sticky assignor: no partitions are left for members below their quota")
        return self._assignment

    # Details

    def _keep_owned(self) -> None:
        for member in in_hash_order(self._owned):
            kept: list[TopicPartition] = []
            for key in self._owned[member]:
                if self._racks.mismatch(member, key):
                    self._maybe_revoked[key] = member
                elif key not in self._claimed_twice:
                    kept.append(key)
            kept.sort(key=lambda key: (key.partition, key.topic))
            assigned = self._assignment[member]
            if len(kept) < self._quota_min:
                assigned.extend(kept)
                self._under.append(member)
                continue
            if len(kept) >= self._quota_max and self._over_left > 0:
                self._count_over()
                quota = self._quota_max
            else:
                quota = self._quota_min
                if self._over_left > 0:
                    self._exact.append(member)
            assigned.extend(kept[:quota])
            self._maybe_revoked.update(dict.fromkeys(kept[quota:], member))

    def _count_over(self) -> None:
        self._over_left -= 1
        if self._over_left == 0:
            self._exact.clear()

    def _deal_in_racks(self, unassigned: list[TopicPartition]) -> list[TopicPartition]:
        """Assign partitions to members in their racks; return those for which no member was found."""
        if not self._racks.member_racks:
            return unassigned
        left: list[TopicPartition] = []
        position = 0
        for key in unassigned:
            index = self._racks.next_member(key, self._under, position)
            if index >= 0:
                member = self._under[index]
                count = len(self._assignment[member]) + 1
                if count >= self._quota_min:
                    self._under.remove(member)
                    if count < self._quota_max and self._over_left > 0:
                        self._exact.append(member)
                else:
                    index += 1
                position = index % len(self._under) if self._under else 0
                self._give(key, member)
                continue
            index = self._racks.next_member(key, self._exact, 0)
            if index < 0:
                left.append(key)
                continue
            member = self._exact[index]
            if len(self._assignment[member]) + 1 == self._quota_max:
                del self._exact[index]
                self._count_over()
            self._give(key, member)
        return left

    def _deal(self, unassigned: Sequence[TopicPartition]) -> None:
        position = 0
        for key in unassigned:
            if not self._under:
                if not self._exact:
                    raise IllegalState("sticky assignor: no member is left for the unassigned partitions")
                self._give(key, self._exact.pop(0))
                continue
            if position >= len(self._under):
                position = 0
            member = self._under[position]
            if self._give(key, member) == self._quota_min:
                del self._under[position]
                self._exact.append(member)
            else:
                position += 1

    def _give(self, key: TopicPartition, member: str) -> int:
        assigned = self._assignment[member]
        assigned.append(key)
        earlier = self._maybe_revoked.get(key)
        if (earlier is not None and earlier != member) or key in self._claimed_twice:
            self.transfers[key] = member
        return len(assigned)
