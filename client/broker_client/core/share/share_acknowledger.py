"""ShareAcknowledge requests for commits and for the end of sessions. Mirrors ShareConsumeRequestManager.

A node gets one request at a time: first those of asynchronous commits, then of synchronous ones, then the closing one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_client.core.consumer.fetcher import producer_error
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.core.share.acknowledge_requests import (
    AcknowledgeKind,
    AcknowledgeOutcome,
    AcknowledgeRequest,
    missing_response,
)
from broker_client.core.share.share_nodes import lost_leader
from broker_client.errors import BrokerError, UnsupportedVersion, error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_acknowledge import ShareAcknowledgeRequest
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_client.core.consumer.call_waits import CallTimer
    from broker_client.core.share.acknowledgements import ByPartition, NodeAcknowledgements
    from broker_client.core.share.share_nodes import ShareNodes
    from broker_client.core.share.share_options import ShareOptions
    from broker_client.core.share.share_sessions import ShareSession
    from broker_client.share_groups import TopicIdPartition
    from protocol_specs.messages.share_acknowledge import ShareAcknowledgeResponse

__all__ = ["ShareAcknowledger"]

RENEWALS_FROM: Final = 2
_NOT_RETRIED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
"""The locks are gone with the leader or the topic, although the errors are retriable."""


@dataclass(slots=True)
class _OfNode:
    asynchronous: AcknowledgeRequest | None = None
    synchronous: list[AcknowledgeRequest] = field(default_factory=list)
    closing: AcknowledgeRequest | None = None


class ShareAcknowledger:
    """Call everything on the reactor's thread. `on_event` is called when a request has ended or may be repeated."""

    def __init__(self, nodes: ShareNodes, options: ShareOptions, on_event: Callable[[], None]) -> None:
        self._nodes = nodes
        self._core = nodes.core
        self._metrics = nodes.metrics.fetches
        self._on_event = on_event
        self._requests: dict[int, _OfNode] = {}
        self._backoff = ExponentialBackoff(
            options.retry_backoff_ms, options.retry_backoff_max_ms, 2, 0.2, self._core.random
        )
        self._retry: IDelayedCall | None = None
        self.closed: Deferred[None] | None = None

    def commit_sync(
        self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements], timer: Callable[[], CallTimer]
    ) -> Deferred[ByPartition]:
        """Send acknowledgements; fires with the results of all partitions."""
        outcome = AcknowledgeOutcome(AcknowledgeKind.SYNC, self._nodes.report)
        sendable, lost = self._nodes.by_node(acknowledgements)
        outcome.expect(len(acknowledgements))
        for node_id, session in self._nodes.sessions.items():
            of_node = sendable.pop(node_id, {})
            in_session, unknown = _split(of_node, session)
            lost.update(unknown)
            if in_session:
                self._count_sent(in_session)
                request = AcknowledgeRequest(session, in_session, outcome, timer, self._backoff)
                self._of(node_id).synchronous.append(request)
        for rest in sendable.values():
            lost.update(rest)
        for partition, one in lost.items():
            one.complete(lost_leader())
            outcome.complete(partition, one)
        outcome.end_if_complete()
        return outcome.done

    def commit_async(
        self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements], timer: Callable[[], CallTimer]
    ) -> None:
        """Send acknowledgements; results are reported."""
        outcome = AcknowledgeOutcome(AcknowledgeKind.ASYNC, self._nodes.report)
        sendable, lost = self._nodes.by_node(acknowledgements)
        for node_id, session in self._nodes.sessions.items():
            in_session, unknown = _split(sendable.pop(node_id, {}), session)
            lost.update(unknown)
            if not in_session:
                continue
            self._count_sent(in_session)
            of_node = self._of(node_id)
            if of_node.asynchronous is None:
                of_node.asynchronous = AcknowledgeRequest(session, in_session, outcome, timer, self._backoff)
                continue
            for partition, one in in_session.items():
                of_node.asynchronous.add(partition, one)
        for partition, one in lost.items():
            self._nodes.fail(partition, one)

    def close(
        self,
        acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements],
        waiting: Mapping[int, ByPartition],
        timer: Callable[[], CallTimer],
    ) -> Deferred[None]:
        """Send the last acknowledgements, with those that `waiting` has by node, and end all sessions."""
        self.closed = Deferred()
        outcome = AcknowledgeOutcome(AcknowledgeKind.CLOSE, self._nodes.report)
        sendable, lost = self._nodes.by_node(acknowledgements)
        for node_id, of_node in waiting.items():
            for partition, one in of_node.items():
                if node_id not in self._core.metadata.cluster.nodes or self._nodes.has_moved(partition, node_id):
                    lost[partition] = one
                    continue
                known = sendable.setdefault(node_id, {}).setdefault(partition, one)
                if known is not one:
                    known.merge(one)
        for partition, one in lost.items():
            self._nodes.fail(partition, one)
        for node_id, session in self._nodes.sessions.items():
            of_node = sendable.get(node_id, {})
            self._count_sent(of_node)
            outcome.expect(len(of_node))
            self._of(node_id).closing = AcknowledgeRequest(session, of_node, outcome, timer, self._backoff)
        return self.closed

    def send(self) -> bool:
        """Send what can go; return True while acknowledgements are on their way: nothing is fetched meanwhile."""
        self._prune()
        while self._pass():
            self._prune()
        if self._requests:
            return True
        if self.closed is None:
            return False
        if not self.closed.called:
            self.closed.callback(None)
        return True

    # Details

    def _of(self, node_id: int) -> _OfNode:
        return self._requests.setdefault(node_id, _OfNode())

    def _count_sent(self, acknowledgements: ByPartition) -> None:
        for one in acknowledgements.values():
            self._metrics.acknowledgements_sent(len(one.types))

    def _pass(self) -> bool:
        """Send the next request of each free node; return True if one ended without being sent."""
        has_ended = False
        for node_id, of_node in list(self._requests.items()):
            queue = (of_node.asynchronous, *(of_node.synchronous or (of_node.closing,)))
            for request in queue:
                if node_id in self._nodes.busy:
                    break
                if request is None or not request.is_in_progress:
                    continue
                if self._try(node_id, request):
                    has_ended = True
                elif request is of_node.asynchronous:
                    break
        return has_ended

    def _try(self, node_id: int, request: AcknowledgeRequest) -> bool:
        """Send a request if it may go; return True if it ended instead."""
        if request.is_expired:
            late = BrokerError(ErrorCode.REQUEST_TIMED_OUT, "the acknowledgements were not confirmed in time")
            self._metrics.acknowledgements_failed(request.give_up(late))
            return True
        now_ms = now_ms_of(self._core.reactor)
        if not request.may_send(now_ms):
            self._plan(request.not_before_ms - now_ms)
            return False
        session = request.session
        if request.is_close:
            session.close()
        acknowledgements = request.next()
        for partition in acknowledgements:
            session.add_partition(partition)
            self._nodes.remember(partition)
        session.add_acknowledgements(acknowledgements)
        message = session.acknowledge_request()
        is_known = node_id in self._core.metadata.cluster.nodes
        if message is None or (request.is_close and not is_known):
            request.give_up(lost_leader())
            return True
        if is_known:
            self._send(node_id, request, message)
        return False

    def _prune(self) -> None:
        """Forget what has ended."""
        for node_id, of_node in list(self._requests.items()):
            if of_node.asynchronous is not None and not of_node.asynchronous.is_in_progress:
                of_node.asynchronous = None
            of_node.synchronous = [one for one in of_node.synchronous if one.is_in_progress]
            if of_node.closing is not None and not of_node.closing.is_in_progress:
                of_node.closing = None
            if of_node.asynchronous is None and not of_node.synchronous and of_node.closing is None:
                del self._requests[node_id]

    def _plan(self, wait_ms: int) -> None:
        if wait_ms > 0 and (self._retry is None or not self._retry.active()):
            self._retry = self._core.reactor.callLater(wait_ms / 1000, self._retry_now)

    def _retry_now(self) -> None:
        if not self._core.is_closed:
            self._on_event()

    def _send(self, node_id: int, request: AcknowledgeRequest, message: ShareAcknowledgeRequest) -> None:
        self._nodes.busy[node_id] = None
        began_ms = now_ms_of(self._core.reactor)
        request.sent()

        def build(version: int) -> ShareAcknowledgeRequest:
            if version < RENEWALS_FROM and message.is_renew_ack:
                raise UnsupportedVersion(f"ShareAcknowledge version {version} cannot renew acquisition locks (RENEW)")
            return message

        def responded(response: ShareAcknowledgeResponse) -> None:
            now_ms = now_ms_of(self._core.reactor)
            self._take(request, response, now_ms, is_renewal=message.is_renew_ack)
            if request.is_processed:
                self._nodes.metrics.fetched(node_id, now_ms - began_ms)

        def done(_: object) -> None:
            self._nodes.busy.pop(node_id, None)
            if request.is_close:
                self._nodes.sessions.pop(node_id, None)
            self._on_event()

        response: Deferred[Any] = self._core.request(
            ShareAcknowledgeRequest, build, node_id=node_id, timeout_ms=self._core.options.network.request_timeout_ms
        )
        response.addCallback(responded)
        response.addErrback(partial(self._failed, request))
        response.addCallback(done)

    def _failed(self, request: AcknowledgeRequest, failure: Failure) -> None:
        error = producer_error(failure)
        request.session.failed()
        self._metrics.acknowledgements_failed(request.fail_in_flight(error))
        request.processed()

    def _take(
        self, request: AcknowledgeRequest, response: ShareAcknowledgeResponse, now_ms: int, *, is_renewal: bool
    ) -> None:
        code = ErrorCode.for_code(response.error_code)
        if not request.is_close:
            request.session.responded(code)
        if code is not ErrorCode.NONE and not request.is_close:
            if code.retriable:
                request.failed(now_ms)
                request.retry()
            else:
                request.fail_in_flight(error_of(code, response.error_message))
                request.processed()
            return
        found, lock_timeout_ms = self._nodes.results_of(response)
        again = False
        for partition, data in found:
            refusal = ErrorCode.for_code(data.error_code)
            if refusal.retriable and refusal not in _NOT_RETRIED and not request.is_close:
                again = request.retry([partition]) or again
                continue
            count = request.complete(
                partition,
                None if refusal is ErrorCode.NONE else error_of(refusal, data.error_message, topic=partition.topic),
                has_renewals=is_renewal,
                lock_timeout_ms=lock_timeout_ms if refusal is ErrorCode.NONE else None,
            )
            if refusal is not ErrorCode.NONE:
                self._metrics.acknowledgements_failed(count)
        if again:
            request.failed(now_ms)
            request.fail_in_flight(missing_response())
        else:
            request.processed()


def _split(acknowledgements: ByPartition, session: ShareSession) -> tuple[ByPartition, ByPartition]:
    """Those of partitions that the session has, and the rest."""
    known = frozenset(session.partitions.values())
    inside = {one: acknowledgements[one] for one in acknowledgements if one in known}
    return inside, {one: acknowledgements[one] for one in acknowledgements if one not in known}
