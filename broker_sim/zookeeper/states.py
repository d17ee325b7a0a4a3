"""The states of partitions and replicas in the controller, as tables. Mirrors PartitionState and ReplicaState of the
PartitionStateMachine and the ReplicaStateMachine.

The event of a transition is the requested state. A pair that is missing in a table is ignored, as in Kafka, which only
logs it: the partition or replica keeps its state.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class PartitionState(Enum):
    """The state of a partition at the controller."""

    NON_EXISTENT = auto()
    """Never created, or deleted."""
    NEW = auto()
    """It has replicas, but neither leader nor ISR yet."""
    ONLINE = auto()
    """It has a leader."""
    OFFLINE = auto()
    """Its leader has died."""


class ReplicaState(Enum):
    """The state of a replica at the controller."""

    NON_EXISTENT = auto()
    NEW = auto()
    """Just made: it may become a follower only."""
    ONLINE = auto()
    OFFLINE = auto()
    """Its broker is dead, or it was stopped on the way to its deletion."""
    DELETION_STARTED = auto()
    DELETION_SUCCESSFUL = auto()
    DELETION_INELIGIBLE = auto()
    """It could not be deleted: its broker is dead, or has failed to do it."""


VALID_PREVIOUS_PARTITION_STATES: Final[Mapping[PartitionState, tuple[PartitionState, ...]]] = {
    PartitionState.NEW: (PartitionState.NON_EXISTENT,),
    PartitionState.ONLINE: (PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE),
    PartitionState.OFFLINE: (PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE),
    PartitionState.NON_EXISTENT: (PartitionState.OFFLINE,),
}

_SETTLED: Final = (
    ReplicaState.NEW,
    ReplicaState.ONLINE,
    ReplicaState.OFFLINE,
    ReplicaState.DELETION_INELIGIBLE,
)
VALID_PREVIOUS_REPLICA_STATES: Final[Mapping[ReplicaState, tuple[ReplicaState, ...]]] = {
    ReplicaState.NEW: (ReplicaState.NON_EXISTENT,),
    ReplicaState.ONLINE: _SETTLED,
    ReplicaState.OFFLINE: _SETTLED,
    ReplicaState.DELETION_STARTED: (ReplicaState.OFFLINE,),
    ReplicaState.DELETION_SUCCESSFUL: (ReplicaState.DELETION_STARTED,),
    ReplicaState.DELETION_INELIGIBLE: (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED),
    ReplicaState.NON_EXISTENT: (ReplicaState.DELETION_SUCCESSFUL,),
}


def may_become(state: PartitionState, target: PartitionState) -> bool:
    """Return True if a partition in `state` may go to `target`."""
    return state in VALID_PREVIOUS_PARTITION_STATES[target]


def replica_may_become(state: ReplicaState, target: ReplicaState) -> bool:
    """Return True if a replica in `state` may go to `target`."""
    return state in VALID_PREVIOUS_REPLICA_STATES[target]
