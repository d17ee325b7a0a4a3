"""The replay of the records of streams groups. Mirrors the replay methods of GroupMetadataManager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from broker_sim.coordinators.groups.modern.epoch_replay import EpochReplay
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember, TaskState
from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology
from broker_sim.coordinators.groups.streams.tasks import NO_HELD_TASKS, HeldTasks, Tasks, task_sets
from protocol_specs.java_hash import hash_order
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
    from collections.abc import Iterable

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.streams.tasks import TaskEpochs
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from protocol_specs.schemas.coordinator.streams_group_current_member_assignment import TaskIds

__all__ = ["StreamsReplay"]


class StreamsReplay(EpochReplay[StreamsGroup, StreamsMember]):
    """Applies records to the streams groups of one shard."""

    _no_assignment: ClassVar = {"assigned": NO_HELD_TASKS, "pending_revocation": NO_HELD_TASKS}

    def __init__(self, snapshots: SnapshotRegistry, groups: GroupRegistry) -> None:
        super().__init__(groups, StreamsGroup, StreamsMember)
        self._snapshots = snapshots

    def new_group(self, group_id: str) -> StreamsGroup:
        """Return a group that is not among those of the shard."""
        return StreamsGroup(self._snapshots, group_id)

    def _set_metadata(self, group: StreamsGroup, value: Any) -> None:
        group.metadata_hash.set(value.metadata_hash)
        group.validated_topology_epoch.set(value.validated_topology_epoch)
        group.assignment_configs.set({each.key: each.value for each in value.last_assignment_configs or ()})

    def _apply_topology(self, group: StreamsGroup, replayed: Replayed) -> None:
        group.topology.set(None if replayed.value is None else StreamsTopology.of(replayed.value))

    def _described(self, member: StreamsMember, value: Any) -> StreamsMember:
        endpoint = value.user_endpoint
        return replace(
            member,
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

    def _target(self, value: Any) -> Tasks:
        return Tasks(task_sets(value.active_tasks), task_sets(value.standby_tasks), task_sets(value.warmup_tasks))

    def _assigned(self, member: StreamsMember, value: Any) -> StreamsMember:
        return replace(
            member,
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

    _appliers: ClassVar = {
        StreamsGroupMetadataKey: EpochReplay.apply_group_epoch,
        StreamsGroupTopologyKey: _apply_topology,
        StreamsGroupMemberMetadataKey: EpochReplay.apply_member,
        StreamsGroupTargetAssignmentMetadataKey: EpochReplay.apply_assignment_epoch,
        StreamsGroupTargetAssignmentMemberKey: EpochReplay.apply_target,
        StreamsGroupCurrentMemberAssignmentKey: EpochReplay.apply_current_assignment,
    }


def _task_epochs(listed: Iterable[TaskIds], member_epoch: int) -> TaskEpochs:
    """Return tasks with their epochs; a record that lacks them has the member's epoch."""
    found: dict[str, Any] = {}
    for each in listed:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [member_epoch] * len(each.partitions)
        found[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return {subtopology: found[subtopology] for subtopology in hash_order(found)}
