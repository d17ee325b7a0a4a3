"""The journal events of streams groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import GroupMemberAssigned, GroupMemberJoined, GroupMemberRemoved
from broker_sim.coordinators.groups.streams.tasks import each_task, partitions_of

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.runtime.shard import CoordinatorHost

__all__ = ["StreamsEvents"]


class StreamsEvents:
    """Appends events to the journal of a broker."""

    def __init__(self, host: CoordinatorHost) -> None:
        self._host = host

    def joined(self, group_id: str, member: StreamsMember) -> None:
        """A group has a new member."""
        self._host.journal.append(
            GroupMemberJoined(
                time_us=self._host.journal.now_us(),
                broker_id=self._host.id,
                group_id=group_id,
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
            )
        )

    def removed(self, group_id: str, member_id: str, reason: str) -> None:
        """A group has lost a member."""
        self._host.journal.append(
            GroupMemberRemoved(
                time_us=self._host.journal.now_us(),
                broker_id=self._host.id,
                group_id=group_id,
                member_id=member_id,
                reason=reason,
            )
        )

    def assigned(self, group_id: str, member: StreamsMember) -> None:
        """A member has other tasks: `active 0_1, 0_2; standby 1_0`, as Kafka Streams names tasks."""
        held = member.assigned
        kinds = (("active", partitions_of(held.active)), ("standby", held.standby), ("warmup", held.warmup))
        texts = [
            f"{kind} " + ", ".join(f"{name}_{partition}" for name, partition in each_task(tasks))
            for kind, tasks in kinds
            if tasks
        ]
        self._host.journal.append(
            GroupMemberAssigned(
                time_us=self._host.journal.now_us(),
                broker_id=self._host.id,
                group_id=group_id,
                member_id=member.member_id,
                generation=member.member_epoch,
                assignment="; ".join(texts),
            )
        )
