"""The steps of a reassignment: old and new replicas first, then the new ones alone once they are in sync.

Mirrors PartitionReassignmentReplicas, PartitionReassignmentRevert and ReplicationControlManager's
changePartitionReassignment and cancelPartitionReassignment (KIP-455, KIP-860).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.metadata.metadata_image import PartitionRegistration


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """All replicas of a partition, and those that a reassignment adds and removes (none: no reassignment)."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def in_progress(self) -> bool:
        """True if a reassignment is in progress."""
        return bool(self.adding or self.removing)

    @property
    def original_replicas(self) -> tuple[int, ...]:
        """The replicas without those that are being added."""
        return tuple(replica for replica in self.replicas if replica not in self.adding)

    @property
    def target_size(self) -> int:
        """The replication factor that the partition has, or is on its way to."""
        return len({*self.replicas, *self.adding} - {*self.removing})

    def completed(self, isr: tuple[int, ...], *, shrinks_safely: bool) -> tuple[Assignment, tuple[int, ...]]:
        """Return the assignment and ISR after the reassignment, if `isr` allows its end. Else unchanged.

        All new replicas have to be in sync. `shrinks_safely` (4.x): if the partition shrinks, all others too.
        """
        if not self.in_progress:
            return self, isr
        staying = tuple(replica for replica in self.replicas if replica not in self.removing)
        staying_isr = tuple(replica for replica in isr if replica not in self.removing)
        # Without replicas that go, Kafka takes an empty ISR too.
        if self.removing and not (staying_isr and staying):
            return self, isr
        awaited = {*self.adding}
        if shrinks_safely and len(self.adding) < len(self.removing):
            awaited |= {*staying}
        if not awaited <= {*staying_isr}:
            return self, isr
        return Assignment(replicas=staying), staying_isr


def assignment_of(partition: PartitionRegistration) -> Assignment:
    """Return a partition's committed replicas."""
    return Assignment(
        replicas=partition.replicas, adding=partition.adding_replicas, removing=partition.removing_replicas
    )


def towards(partition: PartitionRegistration, target: Sequence[int]) -> Assignment:
    """Return the first step to `target`: its replicas, then those to remove.

    A list that the new reassignment leaves empty keeps the content of an earlier one in progress: as Kafka, which only
    writes the lists that are not empty.
    """
    current = partition.replicas
    removing = tuple(sorted(replica for replica in current if replica not in target))
    adding = tuple(sorted(replica for replica in target if replica not in current))
    return Assignment(
        replicas=(*target, *removing),
        adding=adding or partition.adding_replicas,
        removing=removing or partition.removing_replicas,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """The reversal of a reassignment: the replicas before it, and the in-sync ones of them.

    When none of them is, the first one becomes the leader: that is an unclean election.
    """

    assignment: Assignment
    isr: tuple[int, ...]
    unclean: bool


def revert(partition: PartitionRegistration) -> Revert:
    """Revert the reassignment in progress."""
    replicas = assignment_of(partition).original_replicas
    isr = tuple(replica for replica in partition.isr if replica not in partition.adding_replicas)
    return Revert(assignment=Assignment(replicas=replicas), isr=isr or replicas[:1], unclean=not isr)
