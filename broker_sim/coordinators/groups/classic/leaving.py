"""LeaveGroup in a classic group. Mirrors classicGroupLeaveToClassicGroup of GroupMetadataManager.

The old coordinator begins a rebalance with the first member that leaves, the new one when all have left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import NO_MEMBER_ID
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.classic.rebalances import NOTHING
from broker_sim.coordinators.groups.classic.responses import join_refusal
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leave_group import LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
    from broker_sim.coordinators.groups.classic.rebalances import Rebalances
    from protocol_specs.messages.leave_group import MemberIdentity

__all__ = ["Leaving"]

_LEFT: Final = "it has left the group"
_STABLE: Final = ClassicGroupState.STABLE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_DEAD: Final = ClassicGroupState.DEAD


class Leaving:
    """Serves LeaveGroup requests to classic groups."""

    def __init__(self, rebalances: Rebalances, *, old_coordinator: bool) -> None:
        self._rebalances = rebalances
        self._old_coordinator = old_coordinator

    def leave(self, group: ClassicGroup, members: Sequence[MemberIdentity]) -> CoordinatorResult[LeaveGroupResponse]:
        """Remove members, each with a result of its own.

        Raises:
            CoordinatorError: The group is dead.
        """
        if group.state is _DEAD:
            raise CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        results = []
        rebalance: CoordinatorResult[Any] = NOTHING
        for identity in members:
            was_pending = identity.member_id in group.pending_join_members
            error_code = self._remove(group, identity)
            results.append(
                MemberResponse(
                    member_id=identity.member_id,
                    group_instance_id=identity.group_instance_id,
                    error_code=error_code,
                )
            )
            if not error_code and self._old_coordinator:
                reaction = (
                    self._rebalances.complete_join_if_over(group) if was_pending else self._react(group, identity)
                )
                rebalance = reaction if reaction.records else rebalance
        if not self._old_coordinator and any(not result.error_code for result in results):
            rebalance = self._react(group, *members)
        return CoordinatorResult(
            rebalance.records,
            LeaveGroupResponse(members=results),
            on_committed=rebalance.on_committed,
            replay=rebalance.replay,
            unconditional=self._old_coordinator,
        )

    def _remove(self, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
        """Remove one member; without a member id an administrator removes the holder of the group instance id."""
        member_id, instance_id = identity.member_id, identity.group_instance_id
        if member_id == NO_MEMBER_ID:
            holder = None if instance_id is None else group.static_member_id(instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = holder
        elif member_id in group.pending_join_members:
            group.remove(member_id, _LEFT)
            self._rebalances.end_session(group, member_id)
            return ErrorCode.NONE
        else:
            try:
                group.check_member(member_id, instance_id)
            except CoordinatorError as error:
                return error.error_code
        self._rebalances.end_session(group, member_id)
        group.complete_join(group.members[member_id], join_refusal(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member_id, _LEFT)
        return ErrorCode.NONE

    def _react(self, group: ClassicGroup, *left: MemberIdentity) -> CoordinatorResult[Any]:
        names = ", ".join(identity.member_id for identity in left)
        if group.state in (_STABLE, _COMPLETING):
            return self._rebalances.rebalance_or_complete_join(group, f"explicit LeaveGroup request of {names}")
        return self._rebalances.complete_join_if_over(group)
