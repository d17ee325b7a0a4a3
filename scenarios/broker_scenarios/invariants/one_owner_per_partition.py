"""one-owner-per-partition: a group gives each partition to at most one member at a time.

In a classic group that is so among the members of one generation: a member of an earlier one has given up its
partitions when it joined again. In a consumer group (KIP-848) it is so among all members. Share and streams groups
assign otherwise.

An assignment is journaled when its record is appended, and the member gets it when the record is replicated. It counts
no more when a later coordinator of the group does not have the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant
from broker_sim.control.events import GroupMemberAssigned, GroupMemberRemoved, GroupStateChanged
from broker_sim.coordinators.groups.group import GroupType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event
    from broker_sim.replication.partition import Partition

__all__ = ["OneOwnerPerPartition"]


NO_EPOCH: Final = -1


class _Owned(NamedTuple):
    """The last assignment of a member."""

    generation: int
    partitions: frozenset[str]
    leader_epoch: int
    offset: int
    """Where the first of its records is in the log of the coordinator, or after it."""


class OneOwnerPerPartition(Invariant):
    """Remembers the assignment of each member."""

    kind = FindingKind.ONE_OWNER_PER_PARTITION
    claim = "a group gives each partition to at most one member: of a generation, or with KIP-848 at a time"
    events = (GroupStateChanged, GroupMemberAssigned, GroupMemberRemoved)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._types: dict[str, str] = {}
        self._members: dict[str, dict[str, _Owned]] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the partitions that two members have."""
        match event:
            case GroupStateChanged():
                self._types[event.group_id] = event.group_type
                if not event.members:
                    self._members.pop(event.group_id, None)
            case GroupMemberRemoved():
                self._members.get(event.group_id, {}).pop(event.member_id, None)
            case GroupMemberAssigned():
                yield from self._assigned(event)

    def _assigned(self, event: GroupMemberAssigned) -> Iterator[Broken]:
        group_type = self._types.get(event.group_id)
        if group_type not in {GroupType.CLASSIC.value, GroupType.CONSUMER.value}:
            return
        named = (part for part in event.assignment.split(", ") if part and " bytes" not in part)
        log = self.cluster.coordinating(event.broker_id, event.group_id)
        epoch, offset = (NO_EPOCH, 0) if log is None else (log.leader_epoch, log.log.log_end_offset)
        own = _Owned(event.generation, frozenset(named), epoch, offset)
        members = self._members.setdefault(event.group_id, {})
        for other, owned in members.items():
            if other == event.member_id or (
                group_type == GroupType.CLASSIC.value and owned.generation != own.generation
            ):
                continue
            if log is not None and not _has(log, owned):
                continue
            for place in sorted(owned.partitions & own.partitions):
                topic, _, partition = place.rpartition("-")
                yield Broken(
                    subject=(event.group_id, place, own.generation),
                    detail=f"group {event.group_id} has given {place} to {other} and to {event.member_id}",
                    topic=topic,
                    partition=int(partition),
                )
        members[event.member_id] = own


def _has(partition: Partition, owned: _Owned) -> bool:
    """Return True if an assignment of an earlier coordinator is in the log of the present one."""
    if owned.leader_epoch in (NO_EPOCH, partition.leader_epoch):
        return True
    log = partition.log
    return log.epochs.end_offset_for(owned.leader_epoch, log.log_end_offset).end_offset > owned.offset
