"""The movements of partitions during one run of 3.7's uniform assignor. Mirrors its PartitionMovements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.assignors.assignor import AssignorError
from broker_sim.coordinators.groups.assignors.preview_order import set_order

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.assignors.preview_order import Partition

__all__ = ["PartitionMovements"]

_Pair = tuple[str, str]
"""The old and the new owner."""


class PartitionMovements:
    """The earlier movements: one back is preferred to a second one in the other direction."""

    def __init__(self) -> None:
        self._pairs: dict[Partition, _Pair] = {}
        self._partitions: dict[tuple[bytes, _Pair], dict[Partition, None]] = {}

    def move(self, partition: Partition, old_owner: str, new_owner: str) -> None:
        """Record a movement.

        Raises:
            AssignorError: The partition has moved before: Kafka compares its owners wrongly.
        """
        earlier = self._pairs.pop(partition, None)
        source = old_owner
        if earlier is not None:
            del self._partitions[partition[0], earlier][partition]
            source, destination = earlier
            if destination == old_owner:
                msg = "Mismatch in partition movement record with respect to partition ownership during a rebalance"
                raise AssignorError(msg)
            if source == new_owner:
                return
        self._pairs[partition] = source, new_owner
        self._partitions.setdefault((partition[0], (source, new_owner)), {})[partition] = None

    def partition_to_move(self, partition: Partition, old_owner: str, new_owner: str) -> Partition:
        """Return the partition to move in place of one: of the same topic, moved before in the other direction."""
        if partition in self._pairs:
            old_owner = self._pairs[partition][0]
        moved = self._partitions.get((partition[0], (new_owner, old_owner)))
        return set_order(moved)[0] if moved else partition
