"""The Sender's turn for a transactional producer. Mirrors Sender.runOnce and maybeSendAndPollTransactionalRequest.

One transactional request at a time, and while it is prepared or on its way no batch is sent: so a partition has joined
before its batches leave, and EndTxn is the last of its transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.in_flight_requests import ClientResponse, Delivery
from broker_client.core.transactions.transaction_handlers import CoordinatorType
from broker_client.errors import UnsupportedVersion
from broker_client.transaction_errors import TransactionAborted

if TYPE_CHECKING:
    from broker_client.core.batching.record_accumulator import RecordAccumulator
    from broker_client.core.network.cluster import Node
    from broker_client.core.network.metadata import Metadata
    from broker_client.core.network.network_client import NetworkClient
    from broker_client.core.transactions.transaction_handlers import TxnRequestHandler
    from broker_client.core.transactions.transaction_manager import TransactionManager
    from broker_client.errors import ProducerError

__all__ = ["TransactionRequests"]

NEVER_MS: Final = 1 << 62


class TransactionRequests:
    """`run` returns None if batches may be sent, else the milliseconds until they may at the earliest."""

    __slots__ = (
        "_accumulator",
        "_awaited_node",
        "_client",
        "_in_flight",
        "_manager",
        "_metadata",
        "_next",
        "_not_before_ms",
        "_patience_until_ms",
        "_request_timeout_ms",
    )

    def __init__(
        self,
        *,
        manager: TransactionManager,
        client: NetworkClient,
        metadata: Metadata,
        accumulator: RecordAccumulator,
        request_timeout_ms: int,
    ) -> None:
        self._manager = manager
        self._client = client
        self._metadata = metadata
        self._accumulator = accumulator
        self._request_timeout_ms = request_timeout_ms
        self._in_flight: TxnRequestHandler | None = None
        self._next: TxnRequestHandler | None = None
        self._awaited_node: Node | None = None
        self._not_before_ms: int | None = None
        self._patience_until_ms = NEVER_MS

    @property
    def has_work(self) -> bool:
        """True if a request of an ongoing transaction was not sent yet."""
        return (self._next is not None or self._manager.has_request_due) and self._manager.has_ongoing_transaction

    def run(self, now_ms: int) -> int | None:
        """The part of an iteration that comes before batches."""
        manager = self._manager
        manager.maybe_resolve_sequences()
        if manager.has_fatal_error:
            assert manager.last_error is not None
            self._give_up_next(manager.last_error)
            self._accumulator.abort_batches(manager.last_error)
            return NEVER_MS
        if self._in_flight is not None:
            return NEVER_MS
        if manager.has_abortable_error:
            assert manager.last_error is not None
            self._accumulator.abort_undrained_batches(manager.last_error)
        elif manager.is_aborting:
            error = TransactionAborted("the record was not sent: its transaction was aborted")
            self._accumulator.abort_undrained_batches(error)
        if self._next is None:
            self._next = manager.take_request(has_incomplete_batches=self._accumulator.has_incomplete)
            self._patience_until_ms = now_ms + self._request_timeout_ms
            self._not_before_ms = None
            self._awaited_node = None
        return None if self._next is None else self._send(self._next, now_ms)

    def has_found_a_node(self, now_ms: int) -> bool:
        """True if the poll found a node for a request that any node serves, as a rebootstrap may."""
        handler = self._next
        if handler is None or handler.coordinator is not None or self._awaited_node is not None:
            return False
        return self._client.least_loaded_node(now_ms)[0] is not None

    def close(self, error: ProducerError) -> None:
        """The producer is closed by force."""
        self._give_up_next(error)
        handler, self._in_flight = self._in_flight, None
        if handler is not None:
            handler.fail(error)
        self._manager.close(error)

    # Details

    def _give_up_next(self, error: ProducerError) -> None:
        handler, self._next = self._next, None
        if handler is not None:
            handler.fail(error)

    def _send(self, handler: TxnRequestHandler, now_ms: int) -> int:
        """Send it if its node is ready and its back-off is over; else return the milliseconds until then."""
        client = self._client
        node: Node | None
        if handler.coordinator is None:
            node = self._any_node(now_ms)
        else:
            node = self._manager.coordinator(handler.coordinator[0])
            if node is None:
                self._find_coordinator_and_retry(handler)
                return 0
        if node is None:
            handler.is_retry = True
            return self._manager.retry_backoff_ms
        if not client.ready(node, now_ms):
            return self._await_node(handler, node, now_ms)
        if handler.coordinator is not None and handler.coordinator[0] is CoordinatorType.TRANSACTION:
            self._manager.coordinator_ready()
        if handler.is_retry:
            if self._not_before_ms is None:
                self._not_before_ms = now_ms + handler.retry_backoff_ms
            if now_ms < self._not_before_ms:
                return self._not_before_ms - now_ms
        self._next = None
        known = client.api_versions.get(node.id)
        try:
            version = handler.highest_version
            if known is not None:
                version = known.latest_usable(handler.REQUEST, handler.highest_version)
        except UnsupportedVersion as error:
            handler.version_mismatch(error)
            return 0
        request = handler.request(handler.REQUEST.VERSIONS.highest if version is None else version)
        self._in_flight = handler
        client.send(
            node.id,
            request,
            now_ms,
            callback=self._on_response,
            timeout_ms=self._request_timeout_ms,
            highest_version=version,
        )
        return NEVER_MS

    def _any_node(self, now_ms: int) -> Node | None:
        """A node that was chosen is kept until it is ready or lost, though newer metadata may not know it."""
        node = self._awaited_node
        if node is None or self._client.connection_states.is_disconnected(node.id):
            node, _ = self._client.least_loaded_node(now_ms)
        self._awaited_node = node
        return node

    def _await_node(self, handler: TxnRequestHandler, node: Node, now_ms: int) -> int:
        """A coordinator whose connection failed may be another broker by now."""
        failed = self._client.connection_states.is_disconnected(node.id)
        if handler.coordinator is not None and (failed or now_ms >= self._patience_until_ms):
            # Brokers may name the same node until they notice that it is down.
            self._find_coordinator_and_retry(handler, after_backoff=True)
            return 0
        left_ms = max(self._patience_until_ms - now_ms, self._manager.retry_backoff_ms)
        return min(self._client.poll_delay_ms(node.id, now_ms), left_ms)

    def _find_coordinator_and_retry(self, handler: TxnRequestHandler, *, after_backoff: bool = False) -> None:
        self._next = None
        with self._manager.lock:
            if handler.coordinator is not None:
                self._manager.look_up_coordinator(*handler.coordinator, after_backoff=after_backoff)
            handler.retry()

    def _on_response(self, response: ClientResponse) -> None:
        handler, self._in_flight = self._in_flight, None
        if handler is None:
            return
        if response.delivery is Delivery.DISCONNECTED and handler.coordinator is None:
            self._metadata.request_update()
        manager = self._manager
        with manager.lock:
            handler.complete(response)
            if manager.has_authorization_error:
                # The queued batches fail, and the id may be requested again. Mirrors shouldHandleAuthorizationError.
                assert manager.last_error is not None
                manager.fail_pending_requests(manager.last_error)
                self._accumulator.abort_batches(manager.last_error)
                manager.reset_after_authorization_error()
