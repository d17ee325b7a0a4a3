"""The events of one shard's groups. A shard that replays its log records nothing: its groups changed before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.control.events import (
    GroupMemberAssigned,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupStateChanged,
)
from protocol_specs.errors import ProtocolError
from protocol_specs.schemas.consumer_protocol_assignment import ConsumerProtocolAssignment
from protocol_specs.schemas.record_serde import decode_versioned

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.group import GroupType
    from broker_sim.coordinators.runtime.shard import ShardContext

__all__ = ["GroupJournal", "readable_assignment"]

NO_PARTITIONS: Final = ""


class GroupJournal:
    """Records joins, removals, assignments and states."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._host = context.host
        self._journal = context.host.journal

    def state_changed(
        self, group_id: str, kind: GroupType, *, previous: str, state: str, generation: int, members: int, reason: str
    ) -> None:
        """Record that a group has another state."""
        if self._context.is_active and state != previous:
            self._journal.append(
                GroupStateChanged(
                    time_us=self._journal.now_us(),
                    broker_id=self._host.id,
                    group_id=group_id,
                    group_type=kind.value,
                    state=state,
                    previous=previous,
                    generation=generation,
                    members=members,
                    reason=reason,
                )
            )

    def joined(
        self, group_id: str, member_id: str, *, client_id: str, client_host: str, group_instance_id: str | None
    ) -> None:
        """Record a new member."""
        if self._context.is_active:
            self._journal.append(
                GroupMemberJoined(
                    time_us=self._journal.now_us(),
                    broker_id=self._host.id,
                    group_id=group_id,
                    member_id=member_id,
                    client_id=client_id,
                    client_host=client_host,
                    group_instance_id=group_instance_id,
                )
            )

    def removed(self, group_id: str, member_id: str, reason: str) -> None:
        """Record that a member is gone."""
        if self._context.is_active:
            self._journal.append(
                GroupMemberRemoved(
                    time_us=self._journal.now_us(),
                    broker_id=self._host.id,
                    group_id=group_id,
                    member_id=member_id,
                    reason=reason,
                )
            )

    def assigned(self, group_id: str, member_id: str, generation: int, assignment: str) -> None:
        """Record an assignment, as text."""
        if self._context.is_active:
            self._journal.append(
                GroupMemberAssigned(
                    time_us=self._journal.now_us(),
                    broker_id=self._host.id,
                    group_id=group_id,
                    member_id=member_id,
                    generation=generation,
                    assignment=assignment,
                )
            )


def readable_assignment(assignment: bytes, *, of_consumers: bool) -> str:
    """Return the partitions of an assignment of the consumer protocol, else the number of its bytes."""
    if not assignment:
        return NO_PARTITIONS
    if of_consumers:
        try:
            decoded, _ = decode_versioned(ConsumerProtocolAssignment, assignment)
        except ProtocolError:
            return f"{len(assignment)} malformed bytes"
        names = [
            f"{topic.topic}-{partition}" for topic in decoded.assigned_partitions for partition in topic.partitions
        ]
        return ", ".join(names)
    return f"{len(assignment)} bytes"
