"""The replay of the records of streams groups. Mirrors the replay methods of GroupMetadataManager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember, TaskState
from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology
from broker_sim.coordinators.groups.streams.tasks import NO_HELD_TASKS, HeldTasks, Tasks, task_sets
from protocol_specs.schemas.coordinator.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentKey,
)
from protocol_specs.schemas.coordinator.streams_group_member_metadata import StreamsGroupMemberMetadataKey
from protocol_specs.schemas.coordinator.streams_group_metadata import StreamsGroupMetadataKey
from protocol_specs.schemas.coordinator.streams_group_target_assignment_member import (
    StreamsGroupTargetAssignmentMemberKey,
)
from protocol_specs.schemas.coordinator.streams_group_target_assignment_metadata import (
    StreamsGroupTargetAssignmentMetadataKey,
)
from protocol_specs.schemas.coordinator.streams_group_topology import StreamsGroupTopologyKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.streams.tasks import TaskEpochs
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from protocol_specs.message import Message
    from protocol_specs.schemas.coordinator.streams_group_current_member_assignment import TaskIds

__all__ = ["StreamsReplay"]

_NO_ASSIGNMENT_EPOCH = -1


class StreamsReplay:
    """Applies records to the groups of a shard. Records of groups or members that do not exist create them."""

    def __init__(self, snapshots: SnapshotRegistry, groups: GroupRegistry) -> None:
        self._snapshots = snapshots
        self._groups = groups

    @property
    def handlers(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The types of keys, and how they are replayed."""
        return {
            StreamsGroupMetadataKey: self._group_epoch,
            StreamsGroupTopologyKey: self._topology,
            StreamsGroupMemberMetadataKey: self._member,
            StreamsGroupTargetAssignmentMetadataKey: self._assignment_epoch,
            StreamsGroupTargetAssignmentMemberKey: self._target,
            StreamsGroupCurrentMemberAssignmentKey: self._current_assignment,
        }

    def new_group(self, group_id: str) -> StreamsGroup:
        """Return a group that is not among those of the shard."""
        return StreamsGroup(self._snapshots, group_id)

    def _group(self, replayed: Replayed) -> StreamsGroup | None:
        """Return the group of a record; a value creates it. An empty classic group of the id is replaced."""
        group = self._groups.get(replayed.key.group_id)
        if isinstance(group, StreamsGroup):
            return group
        if replayed.value is None:
            return None
        created = self.new_group(replayed.key.group_id)
        self._groups.add(created)
        return created

    def _group_epoch(self, replayed: Replayed) -> None:
        group, value = self._group(replayed), replayed.value
        if group is None:
            return
        if value is None:
            self._groups.remove(group.group_id)
            return
        group.group_epoch.set(value.epoch)
        group.metadata_hash.set(value.metadata_hash)
        group.validated_topology_epoch.set(value.validated_topology_epoch)
        group.assignment_configs.set({each.key: each.value for each in value.last_assignment_configs or ()})

    def _topology(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is not None:
            group.topology.set(None if replayed.value is None else StreamsTopology.of(replayed.value))

    def _member(self, replayed: Replayed) -> None:
        group, value = self._group(replayed), replayed.value
        if group is None:
            return
        member_id = replayed.key.member_id
        if value is None:
            group.remove_member(member_id)
            return
        endpoint = value.user_endpoint
        group.put_member(
            replace(
                _member_of(group, member_id),
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                topology_epoch=value.topology_epoch,
                process_id=value.process_id,
                user_endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
                client_tags={each.key: each.value for each in value.client_tags},
            )
        )

    def _assignment_epoch(self, replayed: Replayed) -> None:
        group, value = self._group(replayed), replayed.value
        if group is not None:
            group.assignment_epoch.set(_NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch)
            group.assignment_timestamp_ms.set(0 if value is None else value.assignment_timestamp)

    def _target(self, replayed: Replayed) -> None:
        group, value = self._group(replayed), replayed.value
        if group is None:
            return
        if value is None:
            group.target.pop(replayed.key.member_id)
            return
        group.target[replayed.key.member_id] = Tasks(
            task_sets(value.active_tasks), task_sets(value.standby_tasks), task_sets(value.warmup_tasks)
        )

    def _current_assignment(self, replayed: Replayed) -> None:
        group, value = self._group(replayed), replayed.value
        if group is None:
            return
        if value is None:
            self._forget_assignment(group, replayed.key.member_id)
            return
        group.put_member(
            replace(
                _member_of(group, replayed.key.member_id),
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                state=TaskState.from_value(value.state),
                assigned=HeldTasks(
                    _task_epochs(value.active_tasks, value.member_epoch),
                    task_sets(value.standby_tasks),
                    task_sets(value.warmup_tasks),
                ),
                pending_revocation=HeldTasks(
                    _task_epochs(value.active_tasks_pending_revocation, value.member_epoch),
                    task_sets(value.standby_tasks_pending_revocation),
                    task_sets(value.warmup_tasks_pending_revocation),
                ),
            )
        )

    def _forget_assignment(self, group: StreamsGroup, member_id: str) -> None:
        member = group.members.get(member_id)
        if member is not None:
            group.put_member(
                replace(
                    member,
                    member_epoch=LEAVE_EPOCH,
                    previous_member_epoch=LEAVE_EPOCH,
                    assigned=NO_HELD_TASKS,
                    pending_revocation=NO_HELD_TASKS,
                )
            )


def _member_of(group: StreamsGroup, member_id: str) -> StreamsMember:
    return group.members.get(member_id) or StreamsMember(member_id=member_id)


def _task_epochs(listed: Iterable[TaskIds], member_epoch: int) -> TaskEpochs:
    """Return tasks with their epochs; a record that lacks them has the member's epoch."""
    found: dict[str, Any] = {}
    for each in listed:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [member_epoch] * len(each.partitions)
        found[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return found
