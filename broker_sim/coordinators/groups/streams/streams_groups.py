"""The streams groups of one shard. Mirrors the streams group methods of GroupMetadataManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.modern.epoch_groups import EpochGroups
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.configured_topology import StatusCode
from broker_sim.coordinators.groups.streams.descriptions import described_group
from broker_sim.coordinators.groups.streams.endpoint_partitions import endpoint_partitions
from broker_sim.coordinators.groups.streams.heartbeat_result import HeartbeatResult
from broker_sim.coordinators.groups.streams.heartbeat_steps import HeartbeatSteps, updated_member
from broker_sim.coordinators.groups.streams.streams_config import StreamsConfig
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
from broker_sim.coordinators.groups.streams.streams_replay import StreamsReplay
from broker_sim.coordinators.groups.streams.target_assignment import compute_target_assignment
from broker_sim.coordinators.groups.streams.tasks import in_hash_order, partitions_of, task_sets
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.streams_group_describe import DescribedGroup
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse, TaskIds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.groups.group import Group
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.streams.tasks import TaskSets
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

__all__ = ["StreamsGroups"]


class StreamsGroups(EpochGroups[StreamsGroup, StreamsMember, DescribedGroup]):
    """Heartbeats and leaves of the members of streams groups."""

    def __init__(self, context: ShardContext, groups: GroupRegistry) -> None:
        super().__init__(context, groups, StreamsGroup, StreamsReplay(context.snapshots, groups), DescribedGroup)
        self._config = StreamsConfig(context.host)

    def _replacement(self, group: Group, records: list[CoordinatorRecord]) -> StreamsGroup | None:
        """Return a new group in place of an empty classic one."""
        converts = self._context.config.behaviour.empty_classic_and_streams_groups_convert
        if converts and group.type is GroupType.CLASSIC and group.is_empty():
            records += group.tombstones()
            return self._replay.new_group(group.group_id)
        return None

    # Heartbeats.

    def heartbeat(
        self, request: StreamsGroupHeartbeatRequest, client: ClientInfo
    ) -> CoordinatorResult[HeartbeatResult]:
        """Join, stay or leave.

        Raises:
            CoordinatorError: The group or the member is unknown, the member is fenced, the topology is invalid, ...
        """
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        records: list[CoordinatorRecord] = []
        joins = request.member_epoch == 0
        group = self._group_of_heartbeat(request.group_id, records, joins=joins)
        member = self._member(group, request, joins=joins)
        new = updated_member(member, request, client)
        steps = HeartbeatSteps(self._context, self._config, group, request, records)
        steps.record_member(member, new)
        topology = steps.topology()
        steps.report_stale_topology(new)
        configured = steps.bump_epoch(topology)
        if group.is_empty():
            self._start_initial_delay(group.group_id)
        is_delayed = self._context.timers.is_scheduled(_initial_delay_key(group.group_id))
        updated = steps.reconcile(new, *steps.assign(configured, new, is_delayed=is_delayed))
        self._member_reconciled(group, new, updated)
        if request.shutdown_application:
            group.request_shutdown(request.member_id)
        response = self._response(group, member, updated, request)
        if configured.problem is not None:
            steps.add_status(configured.problem.status, configured.problem.detail)
        if group.shutdown_member_id is not None:
            steps.add_status(
                StatusCode.SHUTDOWN_APPLICATION,
                f"Streams group member {group.shutdown_member_id} encountered a fatal error and requested a shutdown "
                "for the entire application.",
            )
        response.status = steps.statuses
        missing = {} if configured.problem is None else configured.missing_topics
        return CoordinatorResult(steps.records, HeartbeatResult(response, missing))

    def _member(self, group: StreamsGroup, request: StreamsGroupHeartbeatRequest, *, joins: bool) -> StreamsMember:
        """Return the member of a heartbeat; a join creates it.

        Raises:
            CoordinatorError: GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
        """
        if not joins:
            member = group.existing_member(request.member_id)
            _check_epoch(member, request)
            return member
        self.check_size(group, None)
        return group.members.get(request.member_id) or StreamsMember(member_id=request.member_id)

    def _member_reconciled(self, group: StreamsGroup, old: StreamsMember, updated: StreamsMember) -> None:
        """Start and stop the timers of a member, and report its changes."""
        if updated != old:
            self._set_rebalance_timer(group.group_id, updated)
        self._start_session(group.group_id, updated)
        self.report(group, old, updated)

    def _response(
        self,
        group: StreamsGroup,
        old: StreamsMember,
        updated: StreamsMember,
        request: StreamsGroupHeartbeatRequest,
    ) -> StreamsGroupHeartbeatResponse:
        response = StreamsGroupHeartbeatResponse(
            member_id=updated.member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=self._config.heartbeat_interval_ms(group.group_id),
        )
        if request.member_epoch == 0 or updated.assigned != old.assigned:
            response.active_tasks = in_hash_order(partitions_of(updated.assigned.active), TaskIds)
            response.standby_tasks = in_hash_order(updated.assigned.standby, TaskIds)
            response.warmup_tasks = in_hash_order(updated.assigned.warmup, TaskIds)
            group.endpoints.pop(updated.member_id, None)
            if updated.user_endpoint is not None:
                group.endpoint_epoch += 1
        if group.endpoint_epoch != request.endpoint_information_epoch:
            image = self._context.host.metadata_cache.image
            response.partitions_by_user_endpoint = endpoint_partitions(group, updated, image)
        if self._groups.get(group.group_id) is not None:
            response.endpoint_information_epoch = group.endpoint_epoch
        return response

    # Leaving.

    def _leave(self, request: StreamsGroupHeartbeatRequest) -> CoordinatorResult[HeartbeatResult]:
        """Remove a member. Mirrors streamsGroupLeave."""
        group = self._groups.existing_of(StreamsGroup, request.group_id)
        if request.shutdown_application:
            group.request_shutdown(request.member_id)
        response = StreamsGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch, status=[]
        )
        member = group.existing_member(request.member_id)
        return self._remove(group, member, "the member left the group.", HeartbeatResult(response))

    def _remove(self, group: StreamsGroup, member: StreamsMember, reason: str, response: Any) -> CoordinatorResult[Any]:
        """Remove a member, which makes a new group epoch. Mirrors streamsGroupFenceMember."""
        group_id = group.group_id
        records = streams_records.member_tombstones(group_id, member.member_id)
        records.append(
            streams_records.group_record(
                group_id,
                group.group_epoch.get() + 1,
                metadata_hash=group.metadata_hash.get(),
                validated_topology_epoch=group.validated_topology_epoch.get(),
                assignment_configs=group.assignment_configs.get(),
            )
        )
        self.timers.stop_all(group_id, member.member_id)
        self._journal.removed(group_id, member.member_id, reason)
        return CoordinatorResult(records, response)

    # Timers.

    def _session_timeout_ms(self, group_id: str, member: StreamsMember) -> int:  # noqa: ARG002
        return self._config.session_timeout_ms(group_id)

    def _start_initial_delay(self, group_id: str) -> None:
        """Wait for more members before the first target assignment."""
        delay_ms = self._config.initial_rebalance_delay_ms(group_id)
        if delay_ms > 0:
            self._context.timers.schedule_if_absent(
                _initial_delay_key(group_id), delay_ms, lambda: self._assign_delayed(group_id), retry=False
            )

    def _assign_delayed(self, group_id: str) -> CoordinatorResult[None]:
        """Compute the first target assignment. Mirrors computeDelayedTargetAssignment."""
        group = self._groups.find(StreamsGroup, group_id)
        if group is None or group.is_empty():
            return CoordinatorResult([], None)
        configured, group_epoch = group.configured_topology.get(), group.group_epoch.get()
        if configured is None or group_epoch <= group.assignment_epoch.get():
            return CoordinatorResult([], None)
        records, _ = compute_target_assignment(
            group,
            group_epoch,
            topology=configured,
            configs=group.assignment_configs.get(),
            updated=None,
            now_ms=self._context.now_ms(),
        )
        return CoordinatorResult(records, None)

    # Events and descriptions.

    def _assignment_text(self, member: StreamsMember) -> str:
        return member.assigned.as_text()

    def _described(self, group: StreamsGroup, committed_offset: int) -> DescribedGroup:
        return described_group(group, committed_offset)


def _check_epoch(member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> None:
    """Raise FENCED_MEMBER_EPOCH unless the epoch is the member's, or the one before with tasks that it still has."""
    epoch, present = request.member_epoch, member.member_epoch
    if epoch == present:
        return
    assigned = member.assigned
    if (
        epoch < present
        and epoch == member.previous_member_epoch
        and _contains(partitions_of(assigned.active), request.active_tasks)
        and _contains(assigned.standby, request.standby_tasks)
        and _contains(assigned.warmup, request.warmup_tasks)
    ):
        return
    difference = "greater" if epoch > present else "smaller"
    raise CoordinatorError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {difference} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({present}). The member must abandon all its partitions and rejoin.",
    )


def _contains(assigned: TaskSets, owned: Sequence[TaskIds] | None) -> bool:
    if owned is None:
        return False
    tasks = task_sets(owned)
    return all(name in assigned and partitions <= assigned[name] for name, partitions in tasks.items())


def _initial_delay_key(group_id: str) -> str:
    return f"streams-initial-delay-{group_id}"
