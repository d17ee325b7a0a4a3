"""JoinGroup in a classic group: who is added, replaced or refused. Mirrors the classicGroupJoin methods of
GroupMetadataManager; KIP-345 (static members), KIP-394 (members join again with the id that they receive).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import NO_MEMBER_ID
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
from broker_sim.coordinators.groups.classic.group_limits import UNLIMITED, group_limit
from broker_sim.coordinators.groups.classic.group_metadata_records import empty_group_record, group_record
from broker_sim.coordinators.groups.classic.rebalances import NEW_MEMBER_TIMEOUT_MS, NOTHING
from broker_sim.coordinators.groups.classic.responses import join_refusal, joined
from broker_sim.coordinators.operation_errors import client_error
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
    from broker_sim.coordinators.groups.classic.joining import Joining
    from broker_sim.coordinators.groups.classic.rebalances import Rebalances
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.messages.join_group import JoinGroupResponse

__all__ = ["JoinPhase"]

_KNOWN_MEMBER_ID_SINCE: Final = 4
_SKIPPED_ASSIGNMENT_SINCE: Final = 9
_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE
_DEAD: Final = ClassicGroupState.DEAD


class JoinPhase:
    """Serves JoinGroup requests to classic groups."""

    def __init__(self, context: ShardContext, rebalances: Rebalances, *, old_coordinator: bool) -> None:
        self._context = context
        self._rebalances = rebalances
        self._old_coordinator = old_coordinator
        self._random = context.host.random("member ids")

    def join(self, group: ClassicGroup, joining: Joining, *, created: bool) -> CoordinatorResult[Any]:
        """Add or update a member; a group that was created is written, unless its first generation is."""
        member_id = joining.request.member_id
        if not self._accepts(group, member_id):
            group.remove(member_id, "the group has group.max.size members")
            result = joining.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
        elif member_id == NO_MEMBER_ID:
            result = self._join_new(group, joining)
        else:
            result = self._join_existing(group, joining)
        if self._old_coordinator:
            return self._rebalances.complete_join_if_over(group) if result is NOTHING else result
        if created and result is NOTHING:
            return self._write_created(group, joining)
        return result

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """Return True unless the group is full. Mirrors acceptJoiningMember.

        In a join phase the parked members count: the last ones to join again lose their places in a group that was
        made smaller.
        """
        limit = group_limit(self._context.config, "group.max.size", UNLIMITED)
        member = group.members.get(member_id)
        if group.state is _PREPARING:
            return (member is not None and member.awaiting_join is not None) or group.awaiting_join_count < limit
        if group.state in (_COMPLETING, _STABLE):
            return member is not None or len(group.members) < limit
        return True

    def _write_created(self, group: ClassicGroup, joining: Joining) -> CoordinatorResult[Any]:
        def committed(error: CoordinatorError | None) -> None:
            if error is not None:
                joining.response.complete(join_refusal(client_error(error.error_code)))

        record = empty_group_record(group, self._context.config.behaviour.group_metadata_version)
        return CoordinatorResult([record], None, on_committed=committed, replay=False)

    # New members.

    def _join_new(self, group: ClassicGroup, joining: Joining) -> CoordinatorResult[Any]:
        if group.state is _DEAD:
            return joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_MEMBER_ID)
        if not group.supports(joining.request.protocol_type, joining.protocols):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NO_MEMBER_ID)
        instance_id = joining.group_instance_id
        member_id = self._new_member_id(joining.client.client_id if instance_id is None else instance_id)
        if instance_id is not None:
            holder = group.static_member_id(instance_id)
            if holder is not None:
                return self._replace_static(group, joining, instance_id, holder, member_id)
        elif joining.client.api_version >= _KNOWN_MEMBER_ID_SINCE:
            group.pending_join_members[member_id] = None
            self._rebalances.start_session(group, member_id, joining.request.session_timeout_ms)
            return joining.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return self._add(group, joining, member_id)

    def _new_member_id(self, prefix: str) -> str:
        return f"{prefix}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}"

    def _add(self, group: ClassicGroup, joining: Joining, member_id: str) -> CoordinatorResult[Any]:
        request = joining.request
        member = ClassicMember(
            member_id,
            group_instance_id=joining.group_instance_id,
            client_id=joining.client.client_id,
            client_host=joining.client.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=joining.protocols,
        )
        member.is_new = True
        if group.state is _PREPARING and group.previous_state is _EMPTY:
            group.new_member_added = True
        group.add(member, joining.response)
        self._rebalances.start_session(group, member_id, NEW_MEMBER_TIMEOUT_MS)
        reason = f"adding new member {member_id} with group instance id {joining.group_instance_id}"
        return self._rebalance(group, joining, reason)

    # Members with an id.

    def _join_existing(self, group: ClassicGroup, joining: Joining) -> CoordinatorResult[Any]:
        member_id = joining.request.member_id
        if group.state is _DEAD:
            return joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id)
        if not group.supports(joining.request.protocol_type, joining.protocols):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
        if member_id in group.pending_join_members:
            if joining.group_instance_id is not None:  # a pending member is never static
                return joining.refuse(ErrorCode.UNKNOWN_SERVER_ERROR, "")
            return self._add(group, joining, member_id)
        try:
            group.check_member(member_id, joining.group_instance_id)
        except CoordinatorError as error:
            return joining.refuse(error.error_code, member_id)
        return self._rejoin(group, joining, group.members[member_id])

    def _rejoin(self, group: ClassicGroup, joining: Joining, member: ClassicMember) -> CoordinatorResult[Any]:
        """Begin a rebalance, or return the present generation to a member that has not changed.

        A leader that joins a stable group again may know changes that no member's metadata shows, such as new
        partitions.
        """
        if group.state is _EMPTY:
            return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, member.member_id)
        leads_stable = group.state is _STABLE and group.is_leader(member.member_id)
        if group.state is _PREPARING or leads_stable or member.protocols != joining.protocols:
            self._update(group, member, joining)
            return self._rebalance(group, joining, f"member {member.member_id} joins in state {group.state.value}")
        joining.response.complete(joined(group, member.member_id))
        return NOTHING

    def _update(self, group: ClassicGroup, member: ClassicMember, joining: Joining) -> None:
        group.update(
            member,
            protocols=joining.protocols,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=joining.request.session_timeout_ms,
            response=joining.response,
        )

    def _rebalance(self, group: ClassicGroup, joining: Joining, reason: str) -> CoordinatorResult[Any]:
        return self._rebalances.rebalance_or_complete_join(group, f"{reason}; client reason: {joining.reason}")

    # Static members.

    def _replace_static(
        self, group: ClassicGroup, joining: Joining, instance_id: str, old_member_id: str, member_id: str
    ) -> CoordinatorResult[Any]:
        """Give a static member that has restarted a new id. Mirrors updateStaticMemberThenRebalanceOrCompleteJoin.

        In a stable group this is no reason for a rebalance, unless it changes the group's protocol. After a join phase
        it is one: the leader computes an assignment for the old id.
        """
        old_leader = group.leader_id
        member = group.replace_static_member(instance_id, old_member_id, member_id)
        self._rebalances.restart_session(group, member)
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        self._update(group, member, joining)
        if group.state is _STABLE:
            if group.select_protocol() == group.protocol_name:
                return self._write_replacement(group, joining, member, old_member_id, old_leader, before)
            return self._rebalance(group, joining, f"static member {member_id} changes the group's protocol")
        if group.state is _COMPLETING:
            reason = f"static member {member_id} with group instance id {instance_id} joins"
            return self._rebalances.prepare(group, f"{reason}; client reason: {joining.reason}")
        return self._rebalances.complete_join_if_over(group)

    def _write_replacement(
        self,
        group: ClassicGroup,
        joining: Joining,
        member: ClassicMember,
        old_member_id: str,
        old_leader: str | None,
        before: tuple[Any, int, int],
    ) -> CoordinatorResult[Any]:
        instance_id = joining.group_instance_id
        assert instance_id is not None
        member_id = member.member_id

        def committed(error: CoordinatorError | None) -> None:
            if error is None:
                group.complete_join(member, self._replaced(group, member_id, joining, old_leader))
                return
            protocols, rebalance_timeout_ms, session_timeout_ms = before
            group.update(
                member,
                protocols=protocols,
                rebalance_timeout_ms=rebalance_timeout_ms,
                session_timeout_ms=session_timeout_ms,
                response=None,
            )
            self._rebalances.restart_session(group, group.replace_static_member(instance_id, member_id, old_member_id))
            response = joined(group, NO_MEMBER_ID)
            response.leader = old_leader or ""
            response.error_code = client_error(error.error_code)
            joining.response.complete(response)

        assignments = {each.member_id: each.assignment for each in group.members.values()}
        record = group_record(group, assignments, self._context.config.behaviour.group_metadata_version)
        return CoordinatorResult([record], None, on_committed=committed, replay=False)

    def _replaced(
        self, group: ClassicGroup, member_id: str, joining: Joining, old_leader: str | None
    ) -> JoinGroupResponse:
        """Return the present generation. A leader must not assign: a stable group would not pass the assignment on.

        From v9 on it gets the members, and skips the assignment (KIP-814); before it gets its old id as leader's.
        """
        response = joined(group, member_id)
        if joining.client.api_version >= _SKIPPED_ASSIGNMENT_SINCE:
            response.skip_assignment = group.is_leader(member_id)
        else:
            response.leader = old_leader or ""
            response.members = []
        return response
