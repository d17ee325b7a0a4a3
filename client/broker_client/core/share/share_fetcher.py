"""ShareFetch requests and their responses, with acknowledgements on board. Mirrors ShareConsumeRequestManager.

Fetches continue between polls until records were acquired; they carry the acknowledgements of earlier records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.consumer.fetcher import producer_error
from broker_client.core.metrics.fetch_metrics import ResponseMetrics
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.core.share.acknowledge_requests import missing_response
from broker_client.core.share.share_fetch_buffer import FetchedSharePartition
from broker_client.core.share.share_options import AcquireMode
from broker_client.errors import ProducerError, UnsupportedVersion, error_of
from broker_client.records import TopicPartition
from broker_client.share_groups import TopicIdPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_fetch import ShareFetchRequest
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.python.failure import Failure

    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.share.acknowledgements import Acknowledgements, ByPartition, NodeAcknowledgements
    from broker_client.core.share.share_fetch_buffer import ShareFetchBuffer
    from broker_client.core.share.share_nodes import ShareNodes
    from broker_client.core.share.share_options import ShareOptions
    from broker_client.core.share.share_sessions import ShareSession
    from protocol_specs.messages.share_fetch import ShareFetchResponse

__all__ = ["ShareFetcher"]

MODES_AND_RENEWALS_FROM: Final = 2


class ShareFetcher:
    """Call everything on the reactor's thread. `on_event` is called when a request has ended or may be repeated."""

    def __init__(
        self,
        nodes: ShareNodes,
        subscriptions: SubscriptionState,
        options: ShareOptions,
        buffer: ShareFetchBuffer,
        on_event: Callable[[], None],
    ) -> None:
        self._nodes = nodes
        self._core = nodes.core
        self._subscriptions = subscriptions
        self._options = options
        self._buffer = buffer
        self._on_event = on_event
        self._wants_records = False
        self._records_node: int | None = None
        self._to_send: dict[int, ByPartition] = {}
        self._in_flight: dict[int, ByPartition] = {}
        self._failures: dict[int, int] = {}
        self._not_before_ms: dict[int, int] = {}
        self._backoff = ExponentialBackoff(
            options.retry_backoff_ms, options.retry_backoff_max_ms, 2, 0.2, self._core.random
        )
        self._failure: ProducerError | None = None

    def fetch(self, acknowledgements: Mapping[TopicIdPartition, NodeAcknowledgements]) -> None:
        """Fetch until records come, and send acknowledgements with the next fetch."""
        self._wants_records = True
        for partition, (node_id, one) in acknowledgements.items():
            waiting = self._to_send.setdefault(node_id, {})
            known = waiting.setdefault(partition, one)
            if known is not one:
                known.merge(one)

    def take_waiting(self) -> dict[int, ByPartition]:
        """Return the acknowledgements that no fetch has taken yet."""
        waiting, self._to_send = self._to_send, {}
        return waiting

    def raise_failure(self) -> None:
        """Raise the final error of a ShareFetch request, once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def send(self) -> None:
        """Send a fetch to every node without a request in flight."""
        if not self._wants_records:
            return
        targets: dict[int, ShareSession] = {}
        self._add_partitions(targets)
        self._add_former_partitions(targets)
        for node_id, session in targets.items():
            only_changes = self._has_record_limit and node_id != self._records_node
            request = session.fetch_request(self._options, only_changes=only_changes)
            if request is not None:
                self._send(node_id, session, request)

    # Details

    @property
    def _has_record_limit(self) -> bool:
        return self._options.acquire_mode is AcquireMode.RECORD_LIMIT

    def _is_free(self, node_id: int) -> bool:
        return node_id not in self._nodes.busy and node_id not in self._not_before_ms

    def _add_partitions(self, targets: dict[int, ShareSession]) -> None:
        metadata = self._core.metadata
        for key in list(self._subscriptions.states):
            leader = metadata.cluster.leader_for(key)
            topic_id = metadata.cluster.topic_id(key.topic)
            if leader is None or topic_id is None:
                metadata.request_update()
                continue
            if not self._is_free(leader.id):
                continue
            session = targets[leader.id] = self._nodes.session(leader.id)
            partition = TopicIdPartition(key.topic, key.partition, topic_id)
            acknowledgements = self._to_send.get(leader.id, {}).pop(partition, None)
            session.add_partition(partition)
            if acknowledgements is not None and self._may_send(session, leader.id, partition, acknowledgements):
                session.add_acknowledgements({partition: acknowledgements})
            self._nodes.remember(partition)
            if self._has_record_limit and self._records_node is None:
                self._records_node = leader.id
                self._subscriptions.move_to_end(key)

    def _add_former_partitions(self, targets: dict[int, ShareSession]) -> None:
        """Send the acknowledgements of partitions that are no longer assigned."""
        for node_id, session in self._nodes.sessions.items():
            if node_id not in self._core.metadata.cluster.nodes or not self._is_free(node_id):
                continue
            for partition, acknowledgements in self._to_send.pop(node_id, {}).items():
                if self._nodes.has_moved(partition, node_id):
                    self._nodes.fail(partition, acknowledgements)
                elif self._may_send(session, node_id, partition, acknowledgements):
                    session.add_acknowledgements({partition: acknowledgements})
                    targets[node_id] = session
                    self._nodes.remember(partition)

    def _may_send(
        self, session: ShareSession, node_id: int, partition: TopicIdPartition, acknowledgements: Acknowledgements
    ) -> bool:
        if session.is_new:  # the connection was lost, and with it the session and its locks
            self._nodes.fail(partition, acknowledgements)
            return False
        self._nodes.metrics.fetches.acknowledgements_sent(len(acknowledgements.types))
        self._in_flight.setdefault(node_id, {})[partition] = acknowledgements
        return True

    def _send(self, node_id: int, session: ShareSession, request: ShareFetchRequest) -> None:
        self._nodes.busy[node_id] = None
        began_ms = now_ms_of(self._core.reactor)

        def build(version: int) -> ShareFetchRequest:
            if version < MODES_AND_RENEWALS_FROM and request.is_renew_ack:
                raise UnsupportedVersion(f"ShareFetch version {version} cannot renew acquisition locks (RENEW)")
            if version < MODES_AND_RENEWALS_FROM and self._has_record_limit:
                raise UnsupportedVersion(f"ShareFetch version {version} has share.acquire.mode=batch_optimized alone")
            return request

        def responded(response: ShareFetchResponse) -> None:
            self._nodes.busy.pop(node_id, None)
            if self._take(node_id, session, request, response):
                self._nodes.metrics.fetched(node_id, now_ms_of(self._core.reactor) - began_ms)

        def failed(failure: Failure) -> None:
            self._nodes.busy.pop(node_id, None)
            session.failed()
            error = producer_error(failure)
            if isinstance(error, UnsupportedVersion):
                self._failure, self._wants_records = error, False
            self._complete_all(node_id, error, has_renewals=request.is_renew_ack)
            self._back_off(node_id)

        def done(_: object) -> None:
            if self._records_node == node_id:
                self._records_node = None
            self._on_event()

        response = self._core.request(
            ShareFetchRequest, build, node_id=node_id, timeout_ms=self._core.options.network.request_timeout_ms
        )
        response.addCallback(responded)
        response.addErrback(failed)
        response.addCallback(done)

    def _take(
        self, node_id: int, session: ShareSession, request: ShareFetchRequest, response: ShareFetchResponse
    ) -> bool:
        """Keep what was fetched; return False if the node refused the whole request."""
        code = ErrorCode.for_code(response.error_code)
        session.responded(code)
        if code is not ErrorCode.NONE:
            if code is ErrorCode.UNKNOWN_TOPIC_ID:
                self._core.metadata.request_update()
            self._complete_all(node_id, error_of(code, response.error_message), has_renewals=request.is_renew_ack)
            self._back_off(node_id)
            return False
        found, lock_timeout_ms = self._nodes.results_of(response)
        in_flight = self._in_flight.pop(node_id, {})
        fetches = self._nodes.metrics.fetches
        counted = ResponseMetrics(fetches, [TopicPartition(one.topic, one.partition) for one, _ in found])
        for partition, data in found:
            acknowledgements = in_flight.pop(partition, None)
            if acknowledgements is not None:
                acknowledge_code = ErrorCode.for_code(data.acknowledge_error_code)
                refused = acknowledge_code is not ErrorCode.NONE
                if refused:
                    fetches.acknowledgements_failed(len(acknowledgements.types))
                acknowledgements.complete(
                    error_of(acknowledge_code, data.acknowledge_error_message) if refused else None
                )
                self._nodes.report({partition: acknowledgements}, request.is_renew_ack, lock_timeout_ms)
            self._buffer.add(FetchedSharePartition(node_id, partition, data, lock_timeout_ms, counted))
            if data.acquired_records:
                self._wants_records = False
        for partition, acknowledgements in in_flight.items():
            acknowledgements.complete(missing_response())
            self._nodes.report({partition: acknowledgements}, has_renewals=True, lock_timeout_ms=None)
        if any(data.error_code for _, data in found):
            self._back_off(node_id)
        else:
            self._failures.pop(node_id, None)
        return True

    def _complete_all(self, node_id: int, error: ProducerError, *, has_renewals: bool) -> None:
        """Complete what was on board of a request that has failed."""
        for partition, acknowledgements in self._in_flight.pop(node_id, {}).items():
            self._nodes.metrics.fetches.acknowledgements_failed(len(acknowledgements.types))
            acknowledgements.complete(error)
            self._nodes.report({partition: acknowledgements}, has_renewals, None)

    def _back_off(self, node_id: int) -> None:
        """Repeat a failed fetch at once, and later ones after retry.backoff.ms: Java's loop would not pause."""
        failures = self._failures.get(node_id, 0)
        self._failures[node_id] = failures + 1
        if failures == 0:
            return
        wait_ms = self._backoff.backoff_ms(failures - 1)
        self._not_before_ms[node_id] = now_ms_of(self._core.reactor) + wait_ms

        def end() -> None:
            self._not_before_ms.pop(node_id, None)
            if not self._core.is_closed:
                self._on_event()

        self._core.reactor.callLater(wait_ms / 1000, end)
