"""Telemetry requests on a client's own connections. Mirrors NetworkClient.TelemetrySender (KIP-714).

One broker gets them as long as it is reachable, since it knows the client by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.in_flight_requests import Delivery
from broker_client.core.telemetry.telemetry_states import TelemetryState
from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse
from protocol_specs.messages.push_telemetry import PushTelemetryResponse

if TYPE_CHECKING:
    from broker_client.core.network.cluster import Node
    from broker_client.core.network.in_flight_requests import ClientResponse
    from broker_client.core.network.network_client import NetworkClient
    from broker_client.core.telemetry.telemetry_reporter import ClientTelemetryReporter

__all__ = ["TelemetrySender"]

NEVER_MS: Final = 1 << 62


class TelemetrySender:
    """`maybe_update` is part of every poll."""

    __slots__ = ("_blocked_ms", "_client", "_reconnect_backoff_ms", "_sticky", "reporter")

    def __init__(self, reporter: ClientTelemetryReporter, client: NetworkClient) -> None:
        self.reporter = reporter
        self._client = client
        self._reconnect_backoff_ms = max(client.config.reconnect_backoff_ms, 1)
        self._sticky: Node | None = None
        self._blocked_ms = 0

    def maybe_update(self, now_ms: int) -> None:
        """Send what is due, or begin what it takes."""
        self._blocked_ms = 0
        if self.reporter.time_to_next_update_ms(now_ms) > 0:
            return
        client = self._client
        if self._sticky is None or not client.connection_states.is_ready(self._sticky.id, now_ms):
            self._sticky = self._choose(now_ms)
        node = self._sticky
        if node is not None and client.can_send_request(node.id, now_ms):
            client.send(node.id, self.reporter.next_request(), now_ms, callback=self._on_response)
        else:
            self._blocked_ms = NEVER_MS if node is None else self._connect(node, now_ms)

    def wait_ms(self, now_ms: int) -> int:
        """How long until there is something to do; after `maybe_update` and after all responses."""
        wait_ms = self.reporter.time_to_next_update_ms(now_ms)
        return wait_ms if wait_ms > 0 else self._blocked_ms

    def has_last_push(self, now_ms: int) -> bool:
        """True if the next poll sends what the client pushes as it closes: a connection for it is there."""
        node = self._sticky
        return (
            self.reporter.state is TelemetryState.TERMINATING_PUSH_NEEDED
            and node is not None
            and self._client.can_send_request(node.id, now_ms)
        )

    def close(self) -> None:
        """Send nothing more."""
        self.reporter.close()

    def _choose(self, now_ms: int) -> Node | None:
        """Before the first response nothing is random: without a subscription a client's run is unchanged."""
        client = self._client
        if self.reporter.client_instance_id is not None:
            return client.least_loaded_node(now_ms)[0]
        nodes = client.metadata.cluster.nodes.values()
        ready = (node for node in nodes if client.connection_states.is_ready(node.id, now_ms))
        return next(ready, None) or next(iter(nodes), None)

    def _connect(self, node: Node, now_ms: int) -> int:
        """Return the milliseconds to wait for a connection or for room on it; attempts end with a network event."""
        client = self._client
        if client.connection_states.is_ready(node.id, now_ms) or client.is_any_node_connecting():
            return NEVER_MS
        if client.can_connect(node.id, now_ms):
            client.initiate_connect(node, now_ms)
            return NEVER_MS
        return max(client.connection_delay_ms(node.id, now_ms), self._reconnect_backoff_ms)

    def _on_response(self, response: ClientResponse) -> None:
        body = response.body
        if isinstance(body, GetTelemetrySubscriptionsResponse):
            self.reporter.handle_subscription(body)
        elif isinstance(body, PushTelemetryResponse):
            self.reporter.handle_push(body)
        elif response.delivery is Delivery.VERSION_MISMATCH:
            self.reporter.handle_unsupported_version()
        else:
            self.reporter.handle_disconnect()
