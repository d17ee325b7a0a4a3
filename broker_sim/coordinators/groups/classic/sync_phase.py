"""SyncGroup and Heartbeat in a classic group. Mirrors classicGroupSyncToClassicGroup and
classicGroupHeartbeatToClassicGroup of GroupMetadataManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.classic.classic_member import EMPTY_ASSIGNMENT
from broker_sim.coordinators.groups.classic.group_metadata_records import group_record
from broker_sim.coordinators.groups.classic.rebalances import NOTHING
from broker_sim.coordinators.groups.classic.responses import synced
from broker_sim.coordinators.operation_errors import client_error
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
    from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
    from broker_sim.coordinators.groups.classic.rebalances import Rebalances
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.messages.heartbeat import HeartbeatRequest
    from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["SyncPhase"]

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE
_DEAD: Final = ClassicGroupState.DEAD


class SyncPhase:
    """Serves SyncGroup and Heartbeat requests to classic groups."""

    def __init__(self, context: ShardContext, rebalances: Rebalances, *, old_coordinator: bool) -> None:
        self._context = context
        self._rebalances = rebalances
        self._old_coordinator = old_coordinator

    def sync(
        self, group: ClassicGroup, request: SyncGroupRequest, response: ParkedResponse[SyncGroupResponse]
    ) -> CoordinatorResult[Any]:
        """Return the assignment of a member, or wait for the leader's; the leader's is written first.

        Raises:
            CoordinatorError: The group refuses the request.
        """
        self._check(group, request)
        if group.state is _PREPARING:
            raise CoordinatorError(ErrorCode.REBALANCE_IN_PROGRESS)
        member = group.members[request.member_id]
        group.pending_sync_members.pop(request.member_id, None)
        if not group.pending_sync_members:
            self._rebalances.end_sync_phase(group)
        if group.state is _STABLE:
            response.complete(synced(group, member.assignment))
            if self._old_coordinator:
                self._rebalances.restart_session(group, member)
            return NOTHING
        member.awaiting_sync = response
        return self._write_assignment(group, request) if group.is_leader(request.member_id) else NOTHING

    def _check(self, group: ClassicGroup, request: SyncGroupRequest) -> None:
        if group.state is _DEAD:
            raise CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION)
        for given, known in (
            (request.protocol_type, group.embedded_protocol),
            (request.protocol_name, group.protocol_name),
        ):
            if given is not None and given != known:
                raise CoordinatorError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def _write_assignment(self, group: ClassicGroup, request: SyncGroupRequest) -> CoordinatorResult[Any]:
        """Write the assignment of the leader, and send each member its part; members that it leaves out get none."""
        assignments = {each.member_id: bytes(each.assignment) for each in request.assignments}
        for member_id in group.members:
            assignments.setdefault(member_id, EMPTY_ASSIGNMENT)

        def committed(error: CoordinatorError | None) -> None:
            if group.state is not _COMPLETING or group.generation_id != request.generation_id:
                return  # a member has joined meanwhile
            if error is None:
                self._propagate(group, assignments)
                group.transition_to(_STABLE)
                return
            error_code = client_error(error.error_code)
            self._rebalances.reset_assignments(group, error_code)
            self._rebalances.rebalance_or_complete_join(group, f"error {error_code.name} when storing the assignment")

        record = group_record(group, assignments, self._context.config.behaviour.group_metadata_version)
        return CoordinatorResult([record], None, on_committed=committed, replay=False)

    def _propagate(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        for member in list(group.members.values()):
            group.assign(member, assignments.get(member.member_id, EMPTY_ASSIGNMENT))
            if group.complete_sync(member, synced(group, member.assignment)):
                self._rebalances.restart_session(group, member)

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]:
        """Restart the session of a member; REBALANCE_IN_PROGRESS in a join phase.

        Raises:
            CoordinatorError: The group refuses the request.
        """
        if group.state is _DEAD:
            raise CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        group.check_member(request.member_id, request.group_instance_id)
        if group.state is _COMPLETING and not self._context.config.behaviour.heartbeats_wait_for_assignments:
            raise CoordinatorError(ErrorCode.REBALANCE_IN_PROGRESS)
        if request.generation_id != group.generation_id:
            raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION)
        if group.state is _EMPTY:
            raise CoordinatorError(ErrorCode.UNKNOWN_MEMBER_ID)
        self._rebalances.restart_session(group, group.members[request.member_id])
        rebalancing = group.state is _PREPARING
        return CoordinatorResult((), ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE)
