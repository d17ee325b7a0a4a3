"""The target assignment of a streams group for a new epoch. Mirrors TargetAssignmentBuilder of streams groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.sticky_assignor import STANDBY_REPLICAS, TaskMember, assign_tasks
from broker_sim.coordinators.groups.streams.tasks import NO_TASKS
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredTopology
    from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.groups.streams.tasks import Tasks
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord

__all__ = ["compute_target_assignment"]


def compute_target_assignment(
    group: StreamsGroup,
    group_epoch: int,
    *,
    topology: ConfiguredTopology,
    configs: Mapping[str, str],
    updated: StreamsMember | None,
    now_ms: int,
) -> tuple[list[CoordinatorRecord], Mapping[str, Tasks]]:
    """Return the records of a new target assignment, and the tasks of each member.

    `updated` is new or changed. While the topics do not fit the topology, no member has tasks.
    """
    members = {member_id: group.members[member_id] for member_id in group.member_ids()}
    if updated is not None:
        members[updated.member_id] = updated
    ids = hash_order(members)
    tasks: Mapping[str, Tasks] = {}
    if topology.is_ready:
        assert topology.subtopologies is not None
        specs = {each: TaskMember(members[each].process_id, group.target_of(each)) for each in ids}
        tasks = assign_tasks(specs, topology.subtopologies, int(configs.get(STANDBY_REPLICAS, 0)))
    target = {member_id: tasks.get(member_id, NO_TASKS) for member_id in ids}
    records = [
        streams_records.target_record(group.group_id, member_id, each)
        for member_id, each in target.items()
        if group.target.get(member_id) != each
    ]
    records.append(streams_records.assignment_epoch_record(group.group_id, group_epoch, now_ms))
    return records, target
