"""The records of streams groups. Mirrors StreamsCoordinatorRecordHelpers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.streams.tasks import sorted_tasks
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.schemas.coordinator import streams_group_current_member_assignment as current
from protocol_specs.schemas.coordinator import streams_group_member_metadata as metadata
from protocol_specs.schemas.coordinator import streams_group_target_assignment_member as target
from protocol_specs.schemas.coordinator.streams_group_metadata import (
    LastAssignmentConfig,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from protocol_specs.schemas.coordinator.streams_group_target_assignment_metadata import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from protocol_specs.schemas.coordinator.streams_group_topology import StreamsGroupTopologyKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.groups.streams.tasks import TaskEpochs, Tasks
    from protocol_specs.schemas.coordinator.streams_group_topology import StreamsGroupTopologyValue

__all__ = [
    "assignment_epoch_record",
    "current_assignment_record",
    "group_record",
    "group_tombstones",
    "member_record",
    "member_tombstones",
    "target_record",
    "topology_record",
]


def group_record(
    group_id: str,
    epoch: int,
    *,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> CoordinatorRecord:
    """Return the record of a group epoch."""
    return CoordinatorRecord(
        StreamsGroupMetadataKey(group_id=group_id),
        StreamsGroupMetadataValue(
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated_topology_epoch,
            last_assignment_configs=[
                LastAssignmentConfig(key=key, value=value) for key, value in assignment_configs.items()
            ],
        ),
    )


def topology_record(group_id: str, value: StreamsGroupTopologyValue) -> CoordinatorRecord:
    """Return the record of a topology."""
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), value)


def member_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """Return the record of what a member has sent about itself."""
    endpoint = member.user_endpoint
    return CoordinatorRecord(
        metadata.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        metadata.StreamsGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None if endpoint is None else metadata.Endpoint(host=endpoint[0], port=endpoint[1]),
            client_tags=[metadata.KeyValue(key=key, value=value) for key, value in sorted(member.client_tags.items())],
        ),
    )


def target_record(group_id: str, member_id: str, tasks: Tasks) -> CoordinatorRecord:
    """Return the record of a member's target assignment."""
    return CoordinatorRecord(
        target.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        target.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=sorted_tasks(tasks.active, target.TaskIds),
            standby_tasks=sorted_tasks(tasks.standby, target.TaskIds),
            warmup_tasks=sorted_tasks(tasks.warmup, target.TaskIds),
        ),
    )


def assignment_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Return the record of the epoch and the time of a target assignment."""
    return CoordinatorRecord(
        StreamsGroupTargetAssignmentMetadataKey(group_id=group_id),
        StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def current_assignment_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """Return the record of a reconciliation step."""
    assigned, pending = member.assigned, member.pending_revocation
    return CoordinatorRecord(
        current.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        current.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state.value,
            active_tasks=_with_epochs(assigned.active),
            standby_tasks=sorted_tasks(assigned.standby, current.TaskIds),
            warmup_tasks=sorted_tasks(assigned.warmup, current.TaskIds),
            active_tasks_pending_revocation=_with_epochs(pending.active),
            standby_tasks_pending_revocation=sorted_tasks(pending.standby, current.TaskIds),
            warmup_tasks_pending_revocation=sorted_tasks(pending.warmup, current.TaskIds),
        ),
    )


def _with_epochs(tasks: TaskEpochs) -> list[current.TaskIds]:
    listed = []
    for subtopology in sorted(tasks):
        epochs = sorted(tasks[subtopology].items())
        listed.append(
            current.TaskIds(
                subtopology_id=subtopology,
                partitions=[partition for partition, _ in epochs],
                assignment_epochs=[epoch for _, epoch in epochs],
            )
        )
    return listed


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a member."""
    return [
        CoordinatorRecord(current.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(target.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(metadata.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_tombstones(group_id: str, member_ids: Sequence[str]) -> list[CoordinatorRecord]:
    """Return the records that delete a group with its members."""
    by_member = [member_tombstones(group_id, member_id) for member_id in member_ids]
    return [
        *(records[0] for records in by_member),
        *(records[1] for records in by_member),
        CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(records[2] for records in by_member),
        CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), None),
        CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), None),
    ]
