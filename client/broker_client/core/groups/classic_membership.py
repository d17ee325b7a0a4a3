"""The membership of a consumer in a classic group: join, sync, heartbeat, leave. Mirrors AbstractCoordinator.

The owner decides what to join with and what an assignment means (`MembershipOwner`); this class sends the requests and
keeps state and generation. KIP-62 (poll interval), KIP-345 (static members), KIP-394 (member id required).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.consumer_errors import (
    CommitFailed,
    FencedInstanceId,
    GroupAuthorizationFailed,
    RebalanceInProgress,
    group_error,
    is_retriable,
)
from broker_client.core.consumer.call_waits import PendingResult
from broker_client.core.groups.consumer_protocol import PROTOCOL_TYPE
from broker_client.core.groups.heartbeat_timers import HeartbeatTimers
from broker_client.core.groups.member_states import (
    NO_GENERATION,
    Generation,
    MemberEvent,
    MemberState,
    MemberStates,
)
from broker_client.core.groups.rejoin_reasons import failed_reason, truncated_reason
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ConnectionFailed, ProducerError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.groups.coordinator_finder import CoordinatorFinder
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics
    from broker_client.core.network.client_core import ClientCore
    from protocol_specs.messages.join_group import JoinGroupResponseMember

__all__ = ["ClassicMembership", "MembershipOwner"]

JOIN_GROUP_LAPSE_MS: Final = 5_000
MEMBER_LIST_FROM: Final = 3
_REJOINED_AT_ONCE: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MEMBER_ID_REQUIRED,
)
_LOST_COORDINATOR: Final = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
_log = Logger()


class MembershipOwner(Protocol):
    """The decisions of a rebalance that need the subscription. Mirrors AbstractCoordinator's abstract methods."""

    def protocols(self) -> list[JoinGroupRequestProtocol]:
        """The assignors with this member's metadata."""
        ...

    async def prepare_join(self, timer: CallTimer, generation: Generation) -> bool:
        """Commit and give up partitions; return False to be called again."""
        ...

    async def assign(
        self, protocol: str, members: Sequence[JoinGroupResponseMember], *, skip_assignment: bool
    ) -> dict[str, bytes]:
        """As the leader, assign the partitions of the group."""
        ...

    async def complete_join(self, generation: Generation, assignment: bytes) -> None:
        """Take the assignment of this member."""
        ...


class ClassicMembership:
    """Call everything on the reactor's thread."""

    def __init__(
        self,
        core: ClientCore,
        options: GroupOptions,
        finder: CoordinatorFinder,
        waits: CallWaits,
        owner: MembershipOwner,
        metrics: CoordinatorMetrics,
    ) -> None:
        self._core = core
        self._options = options
        self._finder = finder
        self._waits = waits
        self._owner = owner
        self._metrics = metrics
        self.state = MemberState.UNJOINED
        self.generation = NO_GENERATION
        self._rejoin_needed = True
        self._rejoin_reason = ""
        self._needs_prepare = True
        self._join: PendingResult | None = None
        self._failure: ProducerError | None = None
        self._beat_call: IDelayedCall | None = None
        self.timers = HeartbeatTimers(
            session_timeout_ms=options.session_timeout_ms,
            heartbeat_interval_ms=options.heartbeat_interval_ms,
            max_poll_interval_ms=options.max_poll_interval_ms,
            retry_backoff_ms=options.retry_backoff_ms,
            now_ms=self._now_ms,
        )
        finder.on_found = lambda: self.timers.reset_session(self._now_ms)

    @property
    def rejoin_needed_or_pending(self) -> bool:
        """True if the member has to join, or is joining."""
        return self._rejoin_needed or self._join is not None

    @property
    def stable_generation(self) -> Generation | None:
        """The generation while the member is stable."""
        return self.generation if self.state is MemberState.STABLE else None

    @property
    def is_static(self) -> bool:
        """True if the member has a group.instance.id."""
        return self._options.group_instance_id is not None

    def request_rejoin(self, reason: str) -> None:
        """Join again at the next poll; the coordinator is sent the reason (KIP-800)."""
        _log.info("group member: rejoin requested group={group} reason={reason}", group=self._group_id, reason=reason)
        self._rejoin_reason = reason
        self._rejoin_needed = True

    def request_rejoin_if_necessary(self, reason: str) -> None:
        """Join again, unless that is requested already."""
        if not self._rejoin_needed:
            self.request_rejoin(reason)

    def polled(self) -> None:
        """The application called poll; raises the error that ended the heartbeats."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self.timers.polled(self._now_ms)
        self._plan_beat()

    async def ensure_active(self, timer: CallTimer) -> bool:
        """Find the coordinator and join; return False when the time is over. Mirrors ensureActiveGroup.

        Raises:
            ProducerError: the coordinator refuses the member for good.
        """
        return await self._finder.ensure_ready(timer) and await self._join_if_needed(timer)

    def leave(self, reason: str, *, static_leaves: bool = False) -> PendingResult | None:
        """Send LeaveGroup if the member is known, and reset; return the result of the request.

        A static member remains in the group unless `static_leaves` is True.
        """
        result: PendingResult | None = None
        may_leave = (static_leaves or not self.is_static) and self._finder.node is not None
        if may_leave and self.state is not MemberState.UNJOINED and self.generation.member_id:
            result = PendingResult.of(self._send_leave(reason), self._waits)
        self._reset("consumer pro-actively leaving the group", forget_member_id=True)
        return result

    def reset_on_error(self, api: str, code: ErrorCode) -> None:
        """A response has ended the membership; the member id is kept after ILLEGAL_GENERATION."""
        reason = f"encountered {code.name} from {api} response"
        self._reset(reason, forget_member_id=code is not ErrorCode.ILLEGAL_GENERATION)

    def stop(self) -> None:
        """Send no more heartbeats."""
        call, self._beat_call = self._beat_call, None
        if call is not None and call.active():
            call.cancel()

    # Commits: see CommitMembership

    def commit_generation(self) -> Generation:
        """Return the generation of a stable member.

        Raises:
            RebalanceInProgress: the member is joining; poll, then commit again.
            CommitFailed: the member has been removed from the group.
        """
        if self.state is MemberState.STABLE:
            return self.generation
        if self.state.is_rebalancing:
            raise RebalanceInProgress("the group is rebalancing: call poll, then commit again")
        raise CommitFailed("the consumer is not part of an active group: it was removed from it")

    def commit_refused(self, code: ErrorCode, sent: Generation) -> ProducerError | None:
        """React to an error code of a commit; return the error for the application if it is one of the membership."""
        is_current = self.generation == sent
        is_preparing = self.state is MemberState.PREPARING_REBALANCE
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.request_rejoin("offset commit failed since group is already rebalancing")
            return RebalanceInProgress("the group is rebalancing: call poll, then commit again")
        if code is ErrorCode.FENCED_INSTANCE_ID and not is_current:
            return _stale() if is_preparing else CommitFailed()
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            if not is_current and is_preparing:
                return _stale()
            self.reset_on_error("OFFSET_COMMIT", code)
            return CommitFailed()
        return None

    # Joining

    async def _join_if_needed(self, timer: CallTimer) -> bool:
        while self.rejoin_needed_or_pending:
            if not await self._finder.ensure_ready(timer):
                return False
            if self._needs_prepare:
                self._needs_prepare = False
                prepared = False
                try:
                    prepared = await self._owner.prepare_join(timer, self.generation)
                finally:
                    self._needs_prepare = self._needs_prepare or not prepared
                if not prepared:
                    return False
            join = self._begin_join()
            if not await self._waits.until(lambda join=join: join.is_done, timer):  # type: ignore[misc]
                return False
            if join.error is None:
                await self._joined(join)
            elif not await self._retried(join, timer):
                return False
        return True

    async def _joined(self, join: PendingResult) -> None:
        if not self.generation.is_reset and self.state is MemberState.STABLE:
            await self._owner.complete_join(self.generation, join.value)
            self._join = None
            self._needs_prepare = True
            return
        self._reset("rebalance failed since the membership was lost before its callbacks", forget_member_id=True)
        self._join = None

    async def _retried(self, join: PendingResult, timer: CallTimer) -> bool:
        """Return True if the join may be repeated now; raises its error if it may not be repeated."""
        self._join = None
        error = join.error
        assert error is not None, "the join failed"
        code = error.error_code if isinstance(error, BrokerError) else None
        if code is not ErrorCode.MEMBER_ID_REQUIRED:
            self.request_rejoin(failed_reason(error))
        if code in _REJOINED_AT_ONCE:
            return True
        if not is_retriable(error):
            raise error
        if timer.is_expired:
            return False
        await self._waits.sleep(self._options.retry_backoff_ms, timer)
        return True

    def _begin_join(self) -> PendingResult:
        if self._join is None:
            self.state = MemberStates.next(self.state, MemberEvent.JOIN_SENT)
            self._metrics.rebalance_began()
            joined = Deferred.fromCoroutine(self._join_and_sync()).addErrback(self._attempt_failed)
            self._join = PendingResult.of(joined, self._waits)
        return self._join

    def _attempt_failed(self, failure: Failure) -> Failure:
        self._metrics.rebalance_failed()
        return failure

    async def _join_and_sync(self) -> bytes:
        sent = self.generation
        timeout_ms = max(
            self._core.options.network.request_timeout_ms, self._options.max_poll_interval_ms + JOIN_GROUP_LAPSE_MS
        )
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=self._options.session_timeout_ms,
            rebalance_timeout_ms=self._options.max_poll_interval_ms,
            member_id=sent.member_id,
            group_instance_id=self._options.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=self._owner.protocols(),
            reason=truncated_reason(self._rejoin_reason),
        )
        began_ms = self._now_ms
        response: JoinGroupResponse = await self._finder.send(
            JoinGroupRequest, lambda _: request, timeout_ms=timeout_ms
        )
        code = ErrorCode.for_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise self._join_error(code, response, sent)
        if response.protocol_type not in (None, PROTOCOL_TYPE):
            raise group_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, self._group_id)
        if self.state is not MemberState.PREPARING_REBALANCE:
            raise ConnectionFailed("the member left the group while it joined")
        self._metrics.joined(self._now_ms - began_ms)
        telemetry = self._core.client.telemetry
        if telemetry is not None:
            telemetry.reporter.update_labels(group_member_id=response.member_id)
        self.state = MemberStates.next(self.state, MemberEvent.JOINED)
        self.generation = Generation(response.generation_id, response.member_id, response.protocol_name)
        self.timers.reset(self._now_ms)
        self._plan_beat()
        assignments: dict[str, bytes] = {}
        if response.leader == response.member_id:
            assignments = await self._owner.assign(
                response.protocol_name or "", response.members, skip_assignment=response.skip_assignment
            )
        return await self._sync(assignments)

    def _join_error(self, code: ErrorCode, response: JoinGroupResponse, sent: Generation) -> ProducerError:
        if code is ErrorCode.UNKNOWN_MEMBER_ID and self.generation == sent:
            self.reset_on_error("JOIN_GROUP", code)
        elif code in _LOST_COORDINATOR:
            self._finder.mark_unknown(f"error response {code.name}")
        elif code is ErrorCode.MEMBER_ID_REQUIRED:
            self.generation = Generation(NO_GENERATION.generation_id, response.member_id)
            self.request_rejoin(f"need to re-join with the given member-id: {response.member_id}")
        return group_error(code, self._group_id)

    async def _sync(self, assignments: dict[str, bytes]) -> bytes:
        sent = self.generation
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=self._options.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=sent.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=data) for member, data in assignments.items()
            ],
        )
        began_ms = self._now_ms
        response = await self._finder.send(SyncGroupRequest, lambda _: request)
        code = ErrorCode.for_code(response.error_code)
        if code is not ErrorCode.NONE:
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION) and self.generation == sent:
                self.reset_on_error("SYNC_GROUP", code)
            elif code in _LOST_COORDINATOR:
                self._finder.mark_unknown(f"error response {code.name}")
            raise group_error(code, self._group_id)
        if response.protocol_type not in (None, PROTOCOL_TYPE):
            raise group_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, self._group_id)
        self._metrics.synced(self._now_ms - began_ms)
        if self.generation.is_reset or self.state is not MemberState.COMPLETING_REBALANCE:
            raise group_error(ErrorCode.ILLEGAL_GENERATION, self._group_id)
        if response.protocol_name not in (None, self.generation.protocol_name):
            raise group_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, self._group_id)
        self.state = MemberStates.next(self.state, MemberEvent.SYNCED)
        self._metrics.rebalanced()
        self._rejoin_reason = ""
        self._rejoin_needed = False
        return bytes(response.assignment)

    # Heartbeats

    def _plan_beat(self) -> None:
        """Set the timer of the heartbeats, unless none are sent in this state."""
        self.stop()
        if self.state.has_not_joined or self._failure is not None or self._core.is_closed:
            return
        delay_ms = max(self.timers.next_ms(self._now_ms), 1)
        if self._finder.node is None:
            delay_ms = self._options.retry_backoff_ms
        self._beat_call = self._core.reactor.callLater(delay_ms / 1000, self._beat)

    def _beat(self) -> None:
        now_ms = self._now_ms
        self._beat_call = None
        if self._core.is_closed:
            return
        if self._finder.node is None:
            if self._finder.look_up().is_done:
                self._finder.forget_look_up()
        elif self.timers.is_session_expired(now_ms):
            self._finder.mark_unknown("no response to heartbeats within session.timeout.ms")
        elif self.timers.is_poll_expired(now_ms):
            _log.warn(
                "group member: leaving group={group}: poll was not called for max.poll.interval.ms={limit}; "
                "raise it, or lower max.poll.records",
                group=self._group_id,
                limit=self._options.max_poll_interval_ms,
            )
            self.leave("consumer poll timeout has expired.")
        elif self.timers.is_due(now_ms):
            self.timers.sent(now_ms)
            self._metrics.heartbeat_sent()
            Deferred.fromCoroutine(self._heartbeat()).addErrback(self._heartbeat_failed)
        self._plan_beat()

    async def _heartbeat(self) -> None:
        sent = self.generation
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=self._options.group_instance_id,
        )
        began_ms = self._now_ms
        response = await self._finder.send(HeartbeatRequest, lambda _: request)
        self._metrics.heartbeat(self._now_ms - began_ms)
        code = ErrorCode.for_code(response.error_code)
        if code in _LOST_COORDINATOR:
            self._finder.mark_unknown(f"error response {code.name}")
        if code is ErrorCode.REBALANCE_IN_PROGRESS and self.state is MemberState.STABLE:
            self.request_rejoin("group is already rebalancing")
            self._waits.notify()
        elif code in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            if self.generation == sent:
                self.reset_on_error("HEARTBEAT", code)
                raise group_error(code, self._group_id)
        elif code not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            raise group_error(code, self._group_id)
        self.timers.succeeded(self._now_ms)
        self._plan_beat()

    def _heartbeat_failed(self, failure: Failure) -> None:
        error = failure.value
        self.timers.failed(self._now_ms)
        if isinstance(error, (FencedInstanceId, GroupAuthorizationFailed)):
            self._failure = error
        self._waits.notify()
        self._plan_beat()

    # Details

    @property
    def _group_id(self) -> str:
        return self._options.group_id

    @property
    def _now_ms(self) -> int:
        return now_ms_of(self._core.reactor)

    def _reset(self, reason: str, *, forget_member_id: bool) -> None:
        self.state = MemberStates.next(self.state, MemberEvent.RESET)
        member_id = "" if forget_member_id else self.generation.member_id
        self.generation = Generation(NO_GENERATION.generation_id, member_id)
        self.request_rejoin(reason)
        self._needs_prepare = True
        self.stop()

    def _send_leave(self, reason: str) -> Deferred[Any]:
        member_id = self.generation.member_id

        def build(version: int) -> LeaveGroupRequest:
            if version < MEMBER_LIST_FROM:
                return LeaveGroupRequest(group_id=self._group_id, member_id=member_id)
            identity = MemberIdentity(member_id=member_id, reason=truncated_reason(reason))
            return LeaveGroupRequest(group_id=self._group_id, members=[identity])

        return self._finder.send(LeaveGroupRequest, build)


def _stale() -> RebalanceInProgress:
    return RebalanceInProgress("the member's generation is stale, it takes part in a newer rebalance: poll, then retry")
