"""Commits offsets of a group. Mirrors the commit half of ConsumerCoordinator, and of CommitRequestManager.

A commit is sent with the member's generation or epoch, or, with partitions that were assigned by hand, with none.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from broker_client.consumer_errors import FencedInstanceId, RetriableCommitFailed, group_error, is_retriable
from broker_client.core.consumer.call_waits import PendingResult
from broker_client.core.groups.member_states import NO_GENERATION, Generation
from broker_client.core.groups.topic_ids import TOPIC_NAMES_UP_TO
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import ProducerError, TopicAuthorizationFailed
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_client.consumer_interceptors import ConsumerInterceptors
    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.groups.coordinator_finder import CoordinatorFinder
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.groups.topic_ids import TopicIds
    from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics
    from broker_client.core.network.client_core import ClientCore

__all__ = ["CommitMembership", "CommitObserver", "OffsetCommits", "offset_commit_request"]

CommitObserver: TypeAlias = (
    "Callable[[Mapping[TopicPartition, OffsetAndMetadata]], Callable[[BaseException | None], object]]"
)
"""Is called with the offsets of a commit, and returns what is called at its end, with None or its error."""

NEVER_MS: Final = 1 << 62
_LOST_COORDINATOR: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
)
_log = Logger()


class CommitMembership(Protocol):
    """The membership that commits are sent with."""

    def commit_generation(self) -> Generation:
        """Return the generation or member epoch to commit with; raises ProducerError if the member has none."""
        ...

    def commit_refused(self, code: ErrorCode, sent: Generation) -> ProducerError | None:
        """React to an error code of a commit; return the error for the application if it is one of the membership."""
        ...


@dataclass(slots=True)
class _Completion:
    callback: Callable[..., object]
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    error: ProducerError | None


class OffsetCommits:
    """Call everything on the reactor's thread."""

    def __init__(
        self,
        core: ClientCore,
        options: GroupOptions,
        finder: CoordinatorFinder,
        waits: CallWaits,
        membership: CommitMembership,
        subscriptions: SubscriptionState,
        run_callback: CallbackRunner,
        *,
        metrics: CoordinatorMetrics,
        interceptors: ConsumerInterceptors,
        topic_ids: TopicIds | None = None,
    ) -> None:
        self._core = core
        self._options = options
        self._finder = finder
        self._waits = waits
        self._membership = membership
        self._subscriptions = subscriptions
        self._run_callback = run_callback
        self._metrics = metrics
        self._interceptors = interceptors
        self._topic_ids = topic_ids
        self._completed: deque[_Completion] = deque()
        self._in_flight = 0
        self._fenced = False
        self._next_auto_commit_ms = now_ms_of(core.reactor) + options.auto_commit_interval_ms
        self.observe_automatic: CommitObserver | None = None
        """Sees the commits that the client makes by itself: the application has no call of its own for them."""

    # Calls

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timer: CallTimer) -> bool:
        """Commit and wait; return False when the time is over. Mirrors commitOffsetsSync.

        Raises:
            CommitFailed: the member is no longer part of the group.
            RebalanceInProgress: the group rebalances; poll, then commit again.
            ProducerError: the coordinator refuses the offsets.
        """
        await self.run_callbacks()
        if not offsets:
            return await self._wait_for_async(timer)
        attempts = 0
        while True:
            if not await self._finder.ensure_ready(timer):
                return False
            sent = PendingResult.of(self._send(offsets), self._waits)
            if not await self._waits.until(lambda sent=sent: sent.is_done, timer):  # type: ignore[misc]
                return False
            await self.run_callbacks()
            if sent.error is None:
                if self._interceptors:
                    await self._run_callback(self._interceptors.on_commit, offsets)
                return True
            if not is_retriable(sent.error):
                raise sent.error
            await self._waits.sleep(self._finder.backoff.backoff_ms(attempts), timer)
            attempts += 1
            if timer.is_expired:
                return False

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], callback: Callable[..., object] | None
    ) -> Deferred[None]:
        """Send a commit; the callback is called by a later call of the consumer. Mirrors commitOffsetsAsync."""
        on_complete = callback or _log_failed
        self._in_flight += 1
        if not offsets or self._finder.node is not None:
            sent = self._send(offsets)
        else:
            sent = self._finder.look_up().as_deferred().addCallback(lambda _: self._found(offsets))
        return sent.addCallbacks(
            lambda _: self._complete(on_complete, offsets, None),
            lambda failure: self._fail(on_complete, offsets, failure.value),
        )

    async def run_callbacks(self) -> None:
        """Run the callbacks of commits that have completed.

        Raises:
            FencedInstanceId: a commit found that another consumer has this one's group.instance.id.
        """
        if self._fenced:
            instance = self._options.group_instance_id
            raise FencedInstanceId(f"another consumer has joined with group.instance.id={instance}")
        while self._completed:
            one = self._completed.popleft()
            if self._interceptors and one.error is None:
                await self._run_callback(self._interceptors.on_commit, one.offsets)
            await self._run_callback(one.callback, one.offsets, one.error)

    # Automatic commits

    def restart_auto_commit(self) -> None:
        """Count auto.commit.interval.ms from now."""
        self._next_auto_commit_ms = now_ms_of(self._core.reactor) + self._options.auto_commit_interval_ms

    def next_auto_commit_in_ms(self) -> int:
        """The milliseconds until the next automatic commit; NEVER_MS without enable.auto.commit."""
        if not self._options.enable_auto_commit:
            return NEVER_MS
        return max(self._next_auto_commit_ms - now_ms_of(self._core.reactor), 0)

    def auto_commit_if_due(self) -> None:
        """Commit the positions if enable.auto.commit is set and its interval has passed."""
        if self._options.enable_auto_commit and now_ms_of(self._core.reactor) >= self._next_auto_commit_ms:
            self.restart_auto_commit()
            self.auto_commit_async()

    def auto_commit_async(self) -> PendingResult | None:
        """Commit the positions if enable.auto.commit is set."""
        if not self._options.enable_auto_commit:
            return None
        outcome: Deferred[None] = Deferred()

        def completed(_: object, error: ProducerError | None) -> None:
            if error is not None:
                _log_failed(None, error)
            if isinstance(error, RetriableCommitFailed):
                retry_ms = self._options.retry_backoff_ms
                self._next_auto_commit_ms = now_ms_of(self._core.reactor) + retry_ms

        offsets = self._subscriptions.consumed()
        observed = self._observed(offsets)

        def ended(result: Any) -> Any:
            observed(result.value if isinstance(result, Failure) else None)
            return result

        self.commit_async(offsets, completed).addBoth(ended).addCallbacks(outcome.callback, outcome.errback)
        return PendingResult.of(outcome, self._waits)

    async def auto_commit(self, timer: CallTimer) -> None:
        """Commit the positions and wait, if enable.auto.commit is set; failures are logged."""
        if not self._options.enable_auto_commit:
            return
        offsets = self._subscriptions.consumed()
        ended = self._observed(offsets)
        try:
            if await self.commit(offsets, timer):
                ended(None)
            else:
                _log.info("offset commit: no response within the time-out of close")
        except ProducerError as error:
            ended(error)
            _log_failed(None, error)

    async def wait_for_callbacks(self, timer: CallTimer) -> None:
        """Wait for the asynchronous commits and run their callbacks, as long as the timer allows."""
        await self._wait_for_async(timer)

    # Details

    def _observed(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Callable[[BaseException | None], object]:
        observer = self.observe_automatic
        return _unobserved if observer is None or not offsets else observer(offsets)

    async def _wait_for_async(self, timer: CallTimer) -> bool:
        done = await self._waits.until(lambda: self._in_flight == 0, timer)
        await self.run_callbacks()
        return done

    def _found(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Deferred[None]:
        self._finder.forget_look_up()
        return self._send(offsets)

    def _complete(
        self,
        callback: Callable[..., object],
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: ProducerError | None,
    ) -> None:
        self._in_flight -= 1
        self._completed.append(_Completion(callback, offsets, error))
        self._waits.notify()

    def _fail(
        self,
        callback: Callable[..., object],
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: BaseException,
    ) -> None:
        reported = error if isinstance(error, ProducerError) else ProducerError(str(error))
        if is_retriable(error):
            reported = RetriableCommitFailed(reported)
        self._fenced = self._fenced or isinstance(error, FencedInstanceId)
        self._complete(callback, offsets, reported)
        raise error

    def _send(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Deferred[None]:
        if not offsets:
            return succeed(None)
        sent_with = NO_GENERATION
        instance = None
        if self._subscriptions.is_automatic:
            instance = self._options.group_instance_id
            try:
                sent_with = self._membership.commit_generation()
            except ProducerError as error:
                return fail(error)
        request = offset_commit_request(self._options.group_id, offsets)
        request.generation_id_or_member_epoch = sent_with.generation_id
        request.member_id = sent_with.member_id
        request.group_instance_id = instance
        ids = self._topic_ids
        highest = TOPIC_NAMES_UP_TO if ids is None else ids.highest_version(topic.name for topic in request.topics)

        def build(version: int) -> OffsetCommitRequest:
            if ids is not None and version > TOPIC_NAMES_UP_TO:
                for topic in request.topics:
                    topic.topic_id = ids.id_of(topic.name)
            return request

        began_ms = now_ms_of(self._core.reactor)
        try:
            response = self._finder.send(OffsetCommitRequest, build, highest_version=highest)
        except ProducerError as error:
            return fail(error)
        return response.addCallback(self._take, sent_with, began_ms)

    def _take(self, response: OffsetCommitResponse, sent: Generation, began_ms: int) -> None:
        self._metrics.committed(now_ms_of(self._core.reactor) - began_ms)
        unauthorized: list[str] = []
        for topic in response.topics:
            name = topic.name or ("" if self._topic_ids is None else self._topic_ids.name_of(topic.topic_id))
            for one in topic.partitions:
                code = ErrorCode.for_code(one.error_code)
                if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                    unauthorized.append(name)
                elif code is not ErrorCode.NONE:
                    raise self._error(code, TopicPartition(name, one.partition_index), sent)
        if unauthorized:
            raise TopicAuthorizationFailed(", ".join(dict.fromkeys(unauthorized)))

    def _error(self, code: ErrorCode, key: TopicPartition, sent: Generation) -> ProducerError:
        if code in _LOST_COORDINATOR:
            self._finder.mark_unknown(f"error response {code.name}")
        refused = self._membership.commit_refused(code, sent)
        return refused or group_error(code, self._options.group_id, f"offset of {key}")


def offset_commit_request(group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> OffsetCommitRequest:
    """Return the request for these offsets, without a membership."""
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for key, one in offsets.items():
        topic = topics.setdefault(key.topic, OffsetCommitRequestTopic(name=key.topic))
        topic.partitions.append(
            OffsetCommitRequestPartition(
                partition_index=key.partition,
                committed_offset=one.offset,
                committed_leader_epoch=-1 if one.leader_epoch is None else one.leader_epoch,
                committed_metadata=one.metadata,
            )
        )
    return OffsetCommitRequest(group_id=group_id, topics=list(topics.values()))


def _unobserved(_: BaseException | None) -> None:
    """Do nothing: no caller awaits the end of the commit."""


def _log_failed(_: Any, error: ProducerError | None) -> None:
    if error is not None:
        _log.error("offset commit: failed error={error}", error=error)
