"""How a partition gets other replicas: all old and new ones first, the old ones go when the new ones are in sync.

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
    """All replicas of a partition, and which of them a reassignment adds and removes (none: nothing goes on)."""

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
        """The end of the reassignment, when `isr` allows it: what stays, and the ISR of it. Else unchanged.

        All new replicas have to be in sync. `shrinks_safely` (4.x): where fewer come than go, all that stay have to.
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
    """A partition's replicas as they are committed."""
    return Assignment(
        replicas=partition.replicas, adding=partition.adding_replicas, removing=partition.removing_replicas
    )


def towards(partition: PartitionRegistration, target: Sequence[int]) -> Assignment:
    """The first step to `target`: its replicas, then those that are to go.

    A list that the new reassignment leaves empty keeps what an earlier one, still going on, had put there: as Kafka,
    which only writes the lists that are not empty.
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
    """How a reassignment is taken back: the replicas before it, and who of them is in sync.

    When none of them is, the first one becomes the leader: that is an unclean election.
    """

    assignment: Assignment
    isr: tuple[int, ...]
    unclean: bool


def revert(partition: PartitionRegistration) -> Revert:
    """Take the reassignment that goes on back."""
    replicas = assignment_of(partition).original_replicas
    isr = tuple(replica for replica in partition.isr if replica not in partition.adding_replicas)
    return Revert(assignment=Assignment(replicas=replicas), isr=isr or replicas[:1], unclean=not isr)
