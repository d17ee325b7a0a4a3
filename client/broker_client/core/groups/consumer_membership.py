"""The membership in a group whose partitions the broker assigns (KIP-848, KIP-932): heartbeats, epochs, assignments.

Mirrors AbstractMembershipManager and AbstractHeartbeatRequestManager. Heartbeats continue between the calls of the
application; the owner reconciles assignments.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.consumer_errors import CommitFailed, group_error, is_retriable
from broker_client.consumer_groups import GroupMembershipOperation
from broker_client.core.consumer.call_waits import PendingResult
from broker_client.core.groups.consumer_heartbeats import NO_ASSIGNMENT, LocalAssignment
from broker_client.core.groups.consumer_member_states import (
    ConsumerMemberEvent,
    ConsumerMemberState,
    ConsumerMemberStates,
)
from broker_client.core.groups.member_states import NO_GENERATION, Generation
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import ConnectionFailed, ProducerError, UnsupportedVersion
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_client.core.consumer.call_waits import CallWaits
    from broker_client.core.groups.coordinator_finder import CoordinatorFinder
    from broker_client.core.groups.group_heartbeats import GroupHeartbeats
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.metrics.coordinator_metrics import MembershipMetrics
    from broker_client.core.network.client_core import ClientCore
    from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
    from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

__all__ = ["ConsumerMembership"]

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2
NEVER_MS: Final = 1 << 62
_LOST_COORDINATOR: Final = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
_FENCED: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
_State = ConsumerMemberState
_Event = ConsumerMemberEvent
_log = Logger()


class ConsumerMembership:
    """Call everything on the reactor's thread. `on_event` is called when a heartbeat has ended or the member left."""

    def __init__(
        self,
        core: ClientCore,
        options: GroupOptions,
        finder: CoordinatorFinder,
        waits: CallWaits,
        heartbeats: GroupHeartbeats,
        on_event: Callable[[], None],
        *,
        metrics: MembershipMetrics,
    ) -> None:
        self._core = core
        self._options = options
        self._finder = finder
        self._waits = waits
        self._heartbeats = heartbeats
        self._on_event = on_event
        self._metrics = metrics
        self.member_id = base64.urlsafe_b64encode(core.random.randbytes(16)).rstrip(b"=").decode()
        self.member_epoch = JOIN_EPOCH
        self.state = _State.UNSUBSCRIBED
        self.current = NO_ASSIGNMENT
        self.target = NO_ASSIGNMENT
        self._interval_ms = 0
        self._send_at_ms = 0
        self._attempts = 0
        self._poll_deadline_ms = NEVER_MS
        self._in_flight = False
        self._leaving: PendingResult | None = None
        self._call: IDelayedCall | None = None
        self._failure: ProducerError | None = None
        finder.on_found = self._plan

    # The application

    @property
    def generation(self) -> Generation | None:
        """Member epoch and id; None for a consumer that is no member."""
        return Generation(self.member_epoch, self.member_id) if self.member_epoch > 0 else None

    def polled(self) -> None:
        """The application called poll; raises the error that ended the membership."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._poll_deadline_ms = self._now_ms + self._options.max_poll_interval_ms
        if self.state is _State.UNSUBSCRIBED:
            self.join()

    def join(self) -> None:
        """Join with the same member id, and without partitions."""
        self.member_epoch = JOIN_EPOCH
        self.current = self.target = NO_ASSIGNMENT
        self._move(_Event.JOIN)
        self._send_at_ms = 0
        self._plan()

    def reconciled(self, assignment: LocalAssignment) -> None:
        """The member has these partitions now: acknowledge them at once."""
        self.current = assignment
        self._move(_Event.RECONCILED)
        self._plan()

    def prepare_leaving(self) -> bool:
        """Begin to leave; return False if the member is in no group."""
        if not self.state.takes_assignments:
            return False
        self._move(_Event.LEAVE)
        return True

    def leave(self, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT) -> PendingResult | None:
        """Send the heartbeat that leaves; return its result, None if none is sent: the coordinator is unknown."""
        self._send_leave(operation)
        if self._finder.node is None:
            self._move(_Event.LEFT)
            return None
        self._leaving = PendingResult.of(Deferred.fromCoroutine(self._send()), self._waits)
        self._move(_Event.LEFT)
        self._stop_timer()
        return self._leaving

    def left(self) -> None:
        """The member is in no group any more, and no heartbeat reports it."""
        if ConsumerMemberStates.allows(self.state, _Event.LEFT):
            self._move(_Event.LEFT)
        self.current = self.target = NO_ASSIGNMENT
        self._stop_timer()

    # Commits: see CommitMembership

    def commit_generation(self) -> Generation:
        """Return member epoch and id, or none: the coordinator refuses a commit without them."""
        return self.generation or NO_GENERATION

    def commit_refused(self, code: ErrorCode, sent: Generation) -> ProducerError | None:
        """Return the error for the application if the code is one of the membership."""
        del sent
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH):
            return CommitFailed(f"the member was fenced, or a rebalance has changed its epoch: {code.name}")
        return None

    # Heartbeats

    def _plan(self) -> None:
        """Set the timer of the next heartbeat, look-up or end of the poll interval."""
        self._stop_timer()
        if not self.state.sends_heartbeats or self._core.is_closed:
            return
        now_ms = self._now_ms
        waits_ms: list[int] = []
        if self._finder.node is None:
            # The poll interval ends with a heartbeat, which needs a coordinator.
            waits_ms.append(self._options.retry_backoff_ms if self._finder.is_looking_up else 0)
        else:
            if self.state.takes_assignments:
                waits_ms.append(self._poll_deadline_ms - now_ms)
            if not self._in_flight:
                is_due = self.state.sends_at_once and self._attempts == 0
                waits_ms.append(0 if is_due else self._send_at_ms - now_ms)
        if waits_ms:
            self._call = self._core.reactor.callLater(max(min(waits_ms), 0) / 1000, self._beat)

    def _beat(self) -> None:
        self._call = None
        if self._core.is_closed:
            return
        now_ms = self._now_ms
        if self._finder.node is None:
            self._look_up()
        elif now_ms >= self._poll_deadline_ms and self.state.takes_assignments:
            self._expire()
        elif not self._in_flight and (self.state.sends_at_once or now_ms >= self._send_at_ms):
            Deferred.fromCoroutine(self._send()).addErrback(self._unexpected)
        self._plan()

    def _look_up(self) -> None:
        found = self._finder.look_up()
        if found.is_done:
            self._finder.forget_look_up()
            if found.error is not None and not is_retriable(found.error):
                self._fail(found.error)

    def _expire(self) -> None:
        """Leave the group until the next poll. Mirrors transitionToSendingLeaveGroup(dueToExpiredPollTimer)."""
        _log.warn(
            "group member: leaving group={group}: poll was not called for max.poll.interval.ms={limit}; raise it, "
            "or lower max.poll.records",
            group=self._options.group_id,
            limit=self._options.max_poll_interval_ms,
        )
        self._send_leave()
        Deferred.fromCoroutine(self._send()).addErrback(self._unexpected)
        self._heartbeats.forget_sent()
        self._move(_Event.POLL_EXPIRED)
        self._on_event()

    def _send_leave(self, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT) -> None:
        static = self._options.group_instance_id is not None and operation is not GroupMembershipOperation.LEAVE_GROUP
        self.member_epoch = LEAVE_STATIC_EPOCH if static else LEAVE_EPOCH
        self.current = NO_ASSIGNMENT
        self._move(_Event.SEND_LEAVE)

    async def _send(self) -> None:
        is_leaving = self.state is _State.LEAVING
        request = self._heartbeats.request(
            self.member_id, self.member_epoch, self.current, is_joining=self.state is _State.JOINING
        )
        if self.state is _State.ACKNOWLEDGING:
            self._move(_Event.ACKNOWLEDGED)
            if self.current != self.target:
                self._move(_Event.ASSIGNED)
        self._in_flight = True
        began_ms = self._now_ms
        self._send_at_ms = began_ms + self._interval_ms
        self._metrics.heartbeat_sent()
        try:
            response = await self._finder.send(self._heartbeats.request_type, lambda _: request)
        except ProducerError as error:
            self._in_flight = False
            if not is_leaving:
                self._failed(error)
            return
        self._in_flight = False
        self._metrics.heartbeat(self._now_ms - began_ms)
        if not is_leaving:
            self._take(response)

    def _failed(self, error: ProducerError) -> None:
        self._back_off()
        if isinstance(error, UnsupportedVersion):
            self._fail(UnsupportedVersion(f"{error}: {self._heartbeats.unsupported_text}"))
        elif isinstance(error, ConnectionFailed) or is_retriable(error):
            self._plan()
        else:
            self._fail(error)

    def _take(self, response: ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse) -> None:
        code = ErrorCode.for_code(response.error_code)
        if code is not ErrorCode.NONE:
            self._refused(code, response.error_message)
            return
        self._attempts = 0
        self._interval_ms = response.heartbeat_interval_ms
        self._send_at_ms = self._now_ms + self._interval_ms
        if self.state.takes_assignments:
            self.member_epoch = response.member_epoch
            if response.assignment is not None:
                self._take_assignment(response.assignment)
        self._plan()
        self._on_event()

    def _take_assignment(self, assignment: Any) -> None:
        partitions = {one.topic_id: tuple(sorted(one.partitions)) for one in assignment.topic_partitions}
        self.target = self.target.updated(partitions)
        self._move(_Event.UNCHANGED if self.target == self.current else _Event.ASSIGNED)

    def _refused(self, code: ErrorCode, message: str | None) -> None:
        error = group_error(code, self._options.group_id, message)
        self._back_off()
        if code in _LOST_COORDINATOR:
            self._finder.mark_unknown(f"error response {code.name}")
            self._attempts = self._send_at_ms = 0
        elif code in _FENCED:
            self._attempts = self._send_at_ms = 0
            if self.state.takes_assignments:
                self._move(_Event.FENCED)
        elif code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._failure = error
        elif code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self._fail(error)
            return
        self._plan()
        self._on_event()

    def _back_off(self) -> None:
        self._heartbeats.forget_sent()
        self._send_at_ms = self._now_ms + self._finder.backoff.backoff_ms(self._attempts)
        self._attempts += 1

    def _fail(self, error: BaseException) -> None:
        self._failure = error if isinstance(error, ProducerError) else ProducerError(str(error))
        self._move(_Event.FAILED)
        self.member_epoch = JOIN_EPOCH
        self._stop_timer()
        self._on_event()

    def _unexpected(self, failure: Failure) -> None:
        _log.failure("group member: a heartbeat failed", failure)
        self._fail(ProducerError(f"a heartbeat failed: {failure.getErrorMessage()}"))

    # Details

    @property
    def _now_ms(self) -> int:
        return now_ms_of(self._core.reactor)

    def _move(self, event: ConsumerMemberEvent) -> None:
        before, self.state = self.state, ConsumerMemberStates.next(self.state, event)
        if before is self.state:
            return
        if self.state is _State.RECONCILING:
            self._metrics.rebalance_began()
        elif before is _State.RECONCILING and self.state in (_State.ACKNOWLEDGING, _State.STABLE):
            self._metrics.rebalanced()
        elif not self.state.takes_assignments:
            self._metrics.rebalance_ended()

    def _stop_timer(self) -> None:
        call, self._call = self._call, None
        if call is not None and call.active():
            call.cancel()
