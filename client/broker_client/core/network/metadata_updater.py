"""Keeps the metadata fresh through the client's own connections.

Mirrors NetworkClient.DefaultMetadataUpdater (KIP-899, KIP-1102).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.logger import Logger

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_client.core.network.cluster import Node
    from broker_client.core.network.metadata import Metadata, PendingUpdate
    from broker_client.errors import ProducerError
    from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse

__all__ = ["MetadataTransport", "MetadataUpdater"]

NEVER_MS: Final = 1 << 62
_log = Logger()


class MetadataTransport(Protocol):
    """The methods of the network client that the updater uses."""

    def least_loaded_node(self, now_ms: int) -> tuple[Node | None, bool]:
        """A node for the request, and True if any connection is ready."""
        ...

    def can_send_request(self, node_id: int, now_ms: int) -> bool:
        """True if a request could go out now."""
        ...

    def can_connect(self, node_id: int, now_ms: int) -> bool:
        """True if a connection may begin now."""
        ...

    def initiate_connect(self, node: Node, now_ms: int) -> None:
        """Begin one."""
        ...

    def is_any_node_connecting(self) -> bool:
        """True if one has begun already."""
        ...

    def send_internal(self, request: MetadataRequest, node_id: int, now_ms: int) -> None:
        """Send a request whose response goes to the updater."""
        ...


class MetadataUpdater:
    """At most one Metadata request is under way."""

    __slots__ = (
        "_metadata",
        "_pending",
        "_rebootstrap",
        "_rebootstrap_trigger_ms",
        "_reconnect_backoff_ms",
        "_request_timeout_ms",
        "_transport",
        "rebootstrap_due_ms",
    )

    def __init__(
        self,
        *,
        metadata: Metadata,
        transport: MetadataTransport,
        request_timeout_ms: int,
        reconnect_backoff_ms: int,
        rebootstrap: bool,
        rebootstrap_trigger_ms: int,
    ) -> None:
        self.rebootstrap_due_ms = NEVER_MS
        """From when on updates will have failed for longer than metadata.recovery.rebootstrap.trigger.ms."""
        self._metadata = metadata
        self._transport = transport
        self._request_timeout_ms = request_timeout_ms
        self._reconnect_backoff_ms = reconnect_backoff_ms
        self._rebootstrap = rebootstrap
        self._rebootstrap_trigger_ms = rebootstrap_trigger_ms
        self._pending: PendingUpdate | None = None

    def nodes(self) -> list[Node]:
        """The nodes that are known."""
        return list(self._metadata.cluster.nodes.values())

    def is_update_due(self, now_ms: int) -> bool:
        """True if a request should go before everything else."""
        return self._pending is None and self._metadata.time_to_next_update_ms(now_ms) == 0

    def rebootstrap(self, now_ms: int) -> None:
        """Start over from bootstrap.servers."""
        _log.info("rebootstrapping from bootstrap.servers")
        self._metadata.rebootstrap()
        self.rebootstrap_due_ms = now_ms + self._rebootstrap_trigger_ms + 1

    def wait_ms(self, now_ms: int) -> int:
        """Return the milliseconds until a request is due, or until the present one times out."""
        wait_ms = self._metadata.time_to_next_update_ms(now_ms)
        return wait_ms if self._pending is None else max(wait_ms, self._request_timeout_ms)

    def maybe_update(self, now_ms: int) -> int:
        """Send a Metadata request if one is due and can go; return the milliseconds until the next action."""
        wait_ms = self.wait_ms(now_ms)
        if wait_ms > 0:
            return wait_ms
        if self._rebootstrap and self.rebootstrap_due_ms == NEVER_MS:
            self.rebootstrap_due_ms = now_ms + self._rebootstrap_trigger_ms + 1
        transport = self._transport
        node, any_ready = transport.least_loaded_node(now_ms)
        if node is None and not any_ready and self._rebootstrap and not self._metadata.cluster.is_bootstrap:
            self.rebootstrap(now_ms)
            node, any_ready = transport.least_loaded_node(now_ms)
        if node is None:
            return max(self._reconnect_backoff_ms, 1)
        if transport.can_send_request(node.id, now_ms):
            self._pending = self._metadata.new_update(now_ms)
            transport.send_internal(self._pending.request, node.id, now_ms)
            return self._request_timeout_ms
        if transport.is_any_node_connecting():
            return max(self._reconnect_backoff_ms, 1)
        if transport.can_connect(node.id, now_ms):
            transport.initiate_connect(node, now_ms)
            return max(self._reconnect_backoff_ms, 1)
        return NEVER_MS  # connected, but no request can go: an event of the network will follow

    def handle_disconnect(self, node_id: int, reason: str, now_ms: int, fatal: ProducerError | None = None) -> None:
        """A connection ended: perhaps the metadata is stale; or (`fatal`) no node can ever serve it."""
        cluster = self._metadata.cluster
        if cluster.is_bootstrap and node_id in cluster.nodes:
            _log.warn("bootstrap broker {node} disconnected: {reason}", node=cluster.nodes[node_id], reason=reason)
        if self.is_update_due(now_ms):
            self.handle_failed_request(now_ms)
        if fatal is not None:
            self._metadata.fatal_error(fatal)
        self._metadata.request_update()

    def handle_failed_request(self, now_ms: int, fatal: ProducerError | None = None) -> None:
        """The Metadata request did not come back."""
        if fatal is not None:
            self._metadata.fatal_error(fatal)
        self._metadata.failed_update(now_ms)
        self._pending = None

    def handle_response(self, response: MetadataResponse, version: int, now_ms: int) -> None:
        """Apply the response."""
        pending, self._pending = self._pending, None
        assert pending is not None, "a response belongs to a request"
        if response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED and self._rebootstrap:
            _log.info("metadata: a broker requires a rebootstrap")
            self.rebootstrap_due_ms = now_ms  # in this turn, which closes the connections first
            return
        errors = {topic.name: ErrorCode(topic.error_code).name for topic in response.topics if topic.error_code}
        if errors:
            _log.warn("metadata: the response has topic errors: {errors}", errors=errors)
        if not response.brokers:
            # A broker that is starting up knows no brokers yet.
            self._metadata.failed_update(now_ms)
            return
        self._metadata.update(response, version=version, pending=pending, now_ms=now_ms)
        self.rebootstrap_due_ms = NEVER_MS
