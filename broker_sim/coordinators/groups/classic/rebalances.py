"""The phases of a classic group's rebalance and their deadlines. Mirrors prepareRebalance, completeClassicGroupJoin and
the timers of classic groups in GroupMetadataManager.

Three timers belong to a group: a session per member (also per pending member id), the end of the join phase, and the
end of the sync phase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.classic.classic_member import EMPTY_ASSIGNMENT
from broker_sim.coordinators.groups.classic.group_limits import group_limit
from broker_sim.coordinators.groups.classic.group_metadata_records import group_record, group_tombstone
from broker_sim.coordinators.groups.classic.responses import join_refusal, joined, sync_refusal
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.coordinators.coordinator_error import CoordinatorError
    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
    from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
    from broker_sim.coordinators.runtime.shard import ShardContext

__all__ = ["NEW_MEMBER_TIMEOUT_MS", "NOTHING", "Rebalances"]

NEW_MEMBER_TIMEOUT_MS: Final = 5 * 60 * 1000
"""A parked JoinGroup of a new member ends after this time: the client may have disconnected."""
NOTHING: Final[CoordinatorResult[Any]] = CoordinatorResult((), None)
"""The result of an operation that writes nothing."""

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE
_DEAD: Final = ClassicGroupState.DEAD
_EXPIRED: Final = "its session has ended"
_log = Logger()


class Rebalances:
    """The rebalances of one shard's groups; `find` returns a classic group by id, None if there is none."""

    def __init__(self, context: ShardContext, find: Callable[[str], ClassicGroup | None]) -> None:
        self._context = context
        self._timers = context.timers
        self._find = find

    # Sessions.

    def restart_session(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Give a member its whole session time-out again."""
        self.start_session(group, member.member_id, member.session_timeout_ms)

    def start_session(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Expire a member, or a pending member id, after a time-out."""
        group_id = group.group_id
        self._timers.schedule(
            _session_key(group_id, member_id),
            timeout_ms,
            lambda: self._expire_member(group_id, member_id),
            retry=False,
        )

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        """Stop the timer of a member."""
        self._timers.cancel(_session_key(group.group_id, member_id))

    def _expire_member(self, group_id: str, member_id: str) -> CoordinatorResult[Any]:
        group = self._find(group_id)
        if group is None or group.state is _DEAD:
            return NOTHING
        if member_id in group.pending_join_members:
            group.remove(member_id, _EXPIRED)
            return self._complete_if_all_joined(group)
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat:
            return NOTHING
        return self.remove_member(group, member, f"removing member {member_id} on heartbeat expiration")

    def remove_member(self, group: ClassicGroup, member: ClassicMember, reason: str) -> CoordinatorResult[Any]:
        """Remove a member; its parked JoinGroup gets UNKNOWN_MEMBER_ID, so that a living client tries again."""
        group.complete_join(member, join_refusal(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id, _EXPIRED)
        if group.state in (_STABLE, _COMPLETING):
            return self.rebalance_or_complete_join(group, reason)
        return self._complete_if_all_joined(group)

    def _complete_if_all_joined(self, group: ClassicGroup) -> CoordinatorResult[Any]:
        if group.state is _PREPARING and group.has_all_members_joined:
            return self.complete_join_phase(group)
        return NOTHING

    # The join phase.

    def rebalance_or_complete_join(self, group: ClassicGroup, reason: str) -> CoordinatorResult[Any]:
        """Begin a rebalance where the state permits one, else end the join phase if it is over."""
        return self.prepare(group, reason) if group.can_rebalance else self.complete_join_if_over(group)

    def prepare(self, group: ClassicGroup, reason: str) -> CoordinatorResult[Any]:
        """Begin a join phase: members that wait for their assignment must join again. Mirrors prepareRebalance."""
        if group.state is _COMPLETING:
            self.reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync_members.clear()
        self.end_sync_phase(group)
        is_initial = group.state is _EMPTY and self._has_initial_delay
        if is_initial:
            delay_ms = self._initial_delay_ms
            self._schedule_initial_join(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        group.rebalance_reason = reason
        group.transition_to(_PREPARING)
        _log.info(
            "group coordinator: preparing to rebalance group={group_id} generation={generation} reason={reason}",
            group_id=group.group_id,
            generation=group.generation_id,
            reason=reason,
        )
        if is_initial:
            return NOTHING
        if group.has_all_members_joined:
            return self.complete_join_phase(group)
        self._schedule_end_of_join(group, group.rebalance_timeout_ms)
        return NOTHING

    def complete_join_if_over(self, group: ClassicGroup) -> CoordinatorResult[Any]:
        """End the join phase if all members have joined; an initial one ends by its timer. Mirrors
        maybeCompleteJoinPhase.
        """
        is_initial = group.previous_state is _EMPTY and self._has_initial_delay
        is_over = group.has_all_members_joined and not group.join_phase_failed
        if group.state is _PREPARING and not is_initial and is_over:
            return self.complete_join_phase(group)
        return NOTHING

    def _schedule_end_of_join(self, group: ClassicGroup, delay_ms: int) -> None:
        group_id = group.group_id
        self._timers.schedule(_join_key(group_id), delay_ms, lambda: self._end_join(group_id), retry=False)

    def _end_join(self, group_id: str) -> CoordinatorResult[Any]:
        group = self._find(group_id)
        return NOTHING if group is None else self.complete_join_phase(group)

    @property
    def _has_initial_delay(self) -> bool:
        return "group.initial.rebalance.delay.ms" in self._context.config.values

    @property
    def _initial_delay_ms(self) -> int:
        return group_limit(self._context.config, "group.initial.rebalance.delay.ms", 0)

    def _schedule_initial_join(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        group_id = group.group_id
        self._timers.schedule(
            _join_key(group_id),
            delay_ms,
            lambda: self._end_initial_join(group_id, delay_ms, remaining_ms),
            retry=False,
        )

    def _end_initial_join(self, group_id: str, delay_ms: int, remaining_ms: int) -> CoordinatorResult[Any]:
        """Wait for more members if one has joined meanwhile, until the rebalance time-out (KIP-134)."""
        group = self._find(group_id)
        if group is None:
            return NOTHING
        if group.new_member_added and remaining_ms:
            group.new_member_added = False
            next_delay_ms = min(self._initial_delay_ms, remaining_ms)
            self._schedule_initial_join(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
            return NOTHING
        return self.complete_join_phase(group)

    def complete_join_phase(self, group: ClassicGroup) -> CoordinatorResult[Any]:
        """Begin the next generation with the members that have joined, and with the static ones.

        If none has joined, but static members are left, the phase is repeated until their sessions end. Mirrors
        completeClassicGroupJoin.
        """
        self._timers.cancel(_join_key(group.group_id))
        absent = [member for member in group.members.values() if member.awaiting_join is None and not member.is_static]
        for member in absent:
            group.remove(member.member_id, "it has not joined again within the rebalance time-out")
            self.end_session(group, member.member_id)
        if group.state is _DEAD:
            return NOTHING
        if not group.elect_joined_leader() and group.members:
            # A phase that was repeated at once would never end.
            self._schedule_end_of_join(group, max(group.rebalance_timeout_ms, 1))
            return NOTHING
        if not group.members and self._context.config.behaviour.groups_end_without_members:
            group.transition_to(_DEAD)
            return CoordinatorResult([group_tombstone(group.group_id)], None)
        group.begin_next_generation()
        if group.state is _EMPTY:
            return self._write_empty(group)
        for member in list(group.members.values()):
            group.complete_join(member, joined(group, member.member_id))
            self.restart_session(group, member)
            member.is_new = False
            group.pending_sync_members[member.member_id] = None
        self._schedule_end_of_sync(group)
        return NOTHING

    def _write_empty(self, group: ClassicGroup) -> CoordinatorResult[Any]:
        def committed(error: CoordinatorError | None) -> None:
            if error is not None:
                _log.warn(
                    "group coordinator: the empty generation is not written group={group_id} error={error}",
                    group_id=group.group_id,
                    error=error,
                )

        record = group_record(group, {}, self._context.config.behaviour.group_metadata_version)
        return CoordinatorResult([record], None, on_committed=committed, replay=False)

    # The sync phase.

    def _schedule_end_of_sync(self, group: ClassicGroup) -> None:
        group_id, generation_id = group.group_id, group.generation_id
        if self._context.config.behaviour.groups_wait_for_sync_requests:
            self._timers.schedule(
                _sync_key(group_id),
                group.rebalance_timeout_ms,
                lambda: self._expire_sync(group_id, generation_id),
                retry=False,
            )

    def end_sync_phase(self, group: ClassicGroup) -> None:
        """Stop the timer of the sync phase."""
        self._timers.cancel(_sync_key(group.group_id))

    def _expire_sync(self, group_id: str, generation_id: int) -> CoordinatorResult[Any]:
        """Remove the members that have not sent SyncGroup within the rebalance time-out, and rebalance."""
        group = self._find(group_id)
        if group is None or group.generation_id != generation_id or group.state not in (_COMPLETING, _STABLE):
            return NOTHING
        silent = list(group.pending_sync_members)
        if not silent:
            return NOTHING
        for member_id in silent:
            group.remove(member_id, "it has not sent SyncGroup within the rebalance time-out")
            self.end_session(group, member_id)
        return self.prepare(group, f"removing {', '.join(silent)} on pending sync request expiration")

    def reset_assignments(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        """Take the assignments back, and send an error to the members that wait for theirs."""
        for member in list(group.members.values()):
            member.assignment = EMPTY_ASSIGNMENT
            if group.complete_sync(member, sync_refusal(error_code)):
                self.restart_session(group, member)


def _session_key(group_id: str, member_id: str) -> str:
    return f"heartbeat-{group_id}-{member_id}"


def _join_key(group_id: str) -> str:
    return f"join-{group_id}"


def _sync_key(group_id: str) -> str:
    return f"sync-{group_id}"
