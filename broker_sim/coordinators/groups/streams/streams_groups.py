"""The streams groups of one shard. Mirrors the streams group methods of GroupMetadataManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.group_journal import GroupJournal
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.configured_topology import StatusCode
from broker_sim.coordinators.groups.streams.descriptions import described_group
from broker_sim.coordinators.groups.streams.endpoint_partitions import endpoint_partitions
from broker_sim.coordinators.groups.streams.heartbeat_result import HeartbeatResult
from broker_sim.coordinators.groups.streams.heartbeat_steps import HeartbeatSteps, updated_member
from broker_sim.coordinators.groups.streams.streams_config import StreamsConfig
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember, TaskState
from broker_sim.coordinators.groups.streams.streams_replay import StreamsReplay
from broker_sim.coordinators.groups.streams.target_assignment import compute_target_assignment
from broker_sim.coordinators.groups.streams.tasks import in_hash_order, partitions_of, task_sets
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.streams_group_describe import DescribedGroup
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse, TaskIds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.coordinators.groups.classic.requests import ClientInfo
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.streams.tasks import TaskSets
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.message import Message
    from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

__all__ = ["StreamsGroups"]


class StreamsGroups:
    """Heartbeats, leaves and expirations of the members of streams groups."""

    def __init__(self, context: ShardContext, groups: GroupRegistry) -> None:
        self._config = StreamsConfig(context.host)
        self._context = context
        self._groups = groups
        self._replay = StreamsReplay(context.snapshots, groups)
        self._journal = GroupJournal(context)

    # The interface of a shard's part.

    @property
    def replays(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The records of streams groups."""
        return self._replay.handlers

    def loaded(self) -> None:
        """Start the session of each member, and the rebalance timers of those that must give up tasks."""
        for group in self._all():
            for member in group.members.values():
                self._start_session(group.group_id, member.member_id)
                if member.state is TaskState.UNREVOKED_TASKS:
                    self._start_rebalance_timeout(group.group_id, member)

    def unloaded(self) -> None:
        """No request is parked here."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Let the groups that require these topics check them at the next heartbeat."""
        topics = changed_topics | deleted_topics
        for group in self._all():
            if group.uses_any(topics):
                group.request_metadata_refresh()

    def end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Groups have no transactions."""

    # Groups.

    def _all(self) -> list[StreamsGroup]:
        return self._groups.all_of(StreamsGroup)

    def existing(self, group_id: str, committed_offset: int | None = None) -> StreamsGroup:
        """Return the streams group of an id, as of an offset if one is given.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: there is no group, or one of another type.
        """
        group = self._groups.existing(group_id, committed_offset)
        if not isinstance(group, StreamsGroup):
            raise _other_type(group_id)
        return group

    def _group_of_heartbeat(self, group_id: str, records: list[CoordinatorRecord], *, joins: bool) -> StreamsGroup:
        """Return the group of a heartbeat; a join creates it, also in place of an empty classic group."""
        group = self._groups.get(group_id)
        if isinstance(group, StreamsGroup):
            return group
        if group is None:
            if not joins:
                raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
            return self._replay.new_group(group_id)
        if joins and group.type is GroupType.CLASSIC and group.is_empty():
            records += group.tombstones()
            return self._replay.new_group(group_id)
        raise _other_type(group_id)

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
        new = updated_member(member, request, client.client_id, client.client_host)
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
        limit = self._config.max_size
        if len(group.members) >= limit:
            raise CoordinatorError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The streams group has reached its maximum capacity of {limit} members.",
            )
        return group.members.get(request.member_id) or StreamsMember(member_id=request.member_id)

    def _member_reconciled(self, group: StreamsGroup, old: StreamsMember, updated: StreamsMember) -> None:
        """Start and stop the timers of a member, and report its changes."""
        if updated != old:
            if updated.state is TaskState.UNREVOKED_TASKS:
                self._start_rebalance_timeout(group.group_id, updated)
            else:
                self._context.timers.cancel(_rebalance_key(group.group_id, updated.member_id))
        self._start_session(group.group_id, updated.member_id)
        if updated.member_id not in group.members:
            self._journal.joined(
                group.group_id,
                updated.member_id,
                client_id=updated.client_id,
                client_host=updated.client_host,
                group_instance_id=None,
            )
        if updated.assigned != old.assigned:
            text = updated.assigned.as_text()
            self._journal.assigned(group.group_id, updated.member_id, updated.member_epoch, text)

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
        group = self.existing(request.group_id)
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
        self._context.timers.cancel(_session_key(group_id, member.member_id))
        self._context.timers.cancel(_rebalance_key(group_id, member.member_id))
        self._journal.removed(group_id, member.member_id, reason)
        return CoordinatorResult(records, response)

    # Timers.

    def _start_session(self, group_id: str, member_id: str) -> None:
        self._context.timers.schedule(
            _session_key(group_id, member_id),
            self._config.session_timeout_ms(group_id),
            lambda: self._expire(group_id, member_id, "the member session expired."),
        )

    def _start_rebalance_timeout(self, group_id: str, member: StreamsMember) -> None:
        epoch, timeout_ms = member.member_epoch, member.rebalance_timeout_ms
        reason = f"it failed to transition from epoch {epoch} within {timeout_ms}ms."
        self._context.timers.schedule(
            _rebalance_key(group_id, member.member_id),
            timeout_ms,
            lambda: self._expire(group_id, member.member_id, reason, epoch),
        )

    def _expire(self, group_id: str, member_id: str, reason: str, epoch: int | None = None) -> CoordinatorResult[None]:
        """Remove the member of a timer if it is still there, and at this epoch."""
        group = self._groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, StreamsGroup) else None
        if member is None or epoch not in (None, member.member_epoch):
            return CoordinatorResult([], None)
        assert isinstance(group, StreamsGroup)
        return self._remove(group, member, reason, None)

    def _start_initial_delay(self, group_id: str) -> None:
        """Wait for more members before the first target assignment."""
        delay_ms = self._config.initial_rebalance_delay_ms(group_id)
        if delay_ms > 0:
            self._context.timers.schedule_if_absent(
                _initial_delay_key(group_id), delay_ms, lambda: self._assign_delayed(group_id), retry=False
            )

    def _assign_delayed(self, group_id: str) -> CoordinatorResult[None]:
        """Compute the first target assignment. Mirrors computeDelayedTargetAssignment."""
        group = self._groups.get(group_id)
        if not isinstance(group, StreamsGroup) or group.is_empty():
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

    # Descriptions.

    def describe(self, group_ids: Sequence[str], committed_offset: int) -> list[DescribedGroup]:
        """Describe groups as of an offset; a group that is unknown or of another type has an error."""
        described = []
        for group_id in group_ids:
            try:
                group = self.existing(group_id, committed_offset)
            except CoordinatorError as error:
                described.append(
                    DescribedGroup(group_id=group_id, error_code=error.error_code, error_message=error.message)
                )
                continue
            described.append(described_group(group, committed_offset))
        return described


def _other_type(group_id: str) -> CoordinatorError:
    return CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")


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


def _session_key(group_id: str, member_id: str) -> str:
    return f"streams-session-{group_id}-{member_id}"


def _rebalance_key(group_id: str, member_id: str) -> str:
    return f"streams-rebalance-{group_id}-{member_id}"


def _initial_delay_key(group_id: str) -> str:
    return f"streams-initial-delay-{group_id}"
