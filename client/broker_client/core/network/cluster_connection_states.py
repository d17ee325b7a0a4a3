"""Where each node's connection stands, and when it may be tried again. Mirrors ClusterConnectionStates.

Reconnect back-off and connection set-up time-out grow exponentially with each failure in a row (KIP-144, KIP-601),
both with
20 % jitter. Times are milliseconds of the reactor's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_client.core.network.connection_state import CONNECTION_STATES, ConnectionEvent, ConnectionState
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    import random

__all__ = ["ClusterConnectionStates"]

BACKOFF_MULTIPLIER: Final = 2
BACKOFF_JITTER: Final = 0.2
NEVER_MS: Final = 1 << 62

_PREPARING: Final = (ConnectionState.CONNECTING, ConnectionState.CHECKING_API_VERSIONS)
_DOWN: Final = (ConnectionState.DISCONNECTED, ConnectionState.AUTHENTICATION_FAILED)


@dataclass(slots=True, kw_only=True)
class _NodeConnection:
    state: ConnectionState
    host: str
    last_attempt_ms: int
    setup_timeout_ms: int
    reconnect_backoff_ms: int
    failed_attempts: int = 0
    failed_setups: int = 0
    throttled_until_ms: int = 0
    last_error: str | None = None


class ClusterConnectionStates:
    """One entry a node id, from its first connection attempt on."""

    __slots__ = ("_connecting", "_nodes", "_reconnect_backoff", "_setup_timeout")

    def __init__(
        self,
        *,
        reconnect_backoff_ms: int,
        reconnect_backoff_max_ms: int,
        setup_timeout_ms: int,
        setup_timeout_max_ms: int,
        random: random.Random,
    ) -> None:
        self._nodes: dict[int, _NodeConnection] = {}
        self._connecting: dict[int, None] = {}
        self._reconnect_backoff = ExponentialBackoff(
            reconnect_backoff_ms, reconnect_backoff_max_ms, BACKOFF_MULTIPLIER, BACKOFF_JITTER, random
        )
        self._setup_timeout = ExponentialBackoff(
            setup_timeout_ms, setup_timeout_max_ms, BACKOFF_MULTIPLIER, BACKOFF_JITTER, random
        )

    def state(self, node_id: int) -> ConnectionState:
        """DISCONNECTED for a node that was never tried."""
        node = self._nodes.get(node_id)
        return node.state if node is not None else ConnectionState.DISCONNECTED

    def can_connect(self, node_id: int, now_ms: int) -> bool:
        """True if a connection may begin now: there is none, and the back-off has passed."""
        node = self._nodes.get(node_id)
        return node is None or (node.state in _DOWN and now_ms - node.last_attempt_ms >= node.reconnect_backoff_ms)

    def connection_delay_ms(self, node_id: int, now_ms: int) -> int:
        """How long until something can change: the rest of the back-off, NEVER_MS when only an event can."""
        node = self._nodes.get(node_id)
        if node is None:
            return 0
        if node.state in _PREPARING:
            return NEVER_MS
        if node.state in _DOWN:
            return max(node.reconnect_backoff_ms - (now_ms - node.last_attempt_ms), 0)
        return NEVER_MS

    def poll_delay_ms(self, node_id: int, now_ms: int) -> int:
        """As connection_delay_ms, or the rest of a throttle."""
        throttled_ms = self.throttle_delay_ms(node_id, now_ms)
        if throttled_ms > 0 and self.state(node_id) is ConnectionState.READY:
            return throttled_ms
        return self.connection_delay_ms(node_id, now_ms)

    def connecting(self, node_id: int, host: str, now_ms: int) -> None:
        """A connection attempt begins; a new host name forgets the failures of the old one."""
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = _NodeConnection(
                state=ConnectionState.DISCONNECTED,
                host=host,
                last_attempt_ms=now_ms,
                setup_timeout_ms=0,
                reconnect_backoff_ms=self._reconnect_backoff.backoff_ms(0),
            )
        node.state = CONNECTION_STATES.next(node.state, ConnectionEvent.CONNECT_STARTED)
        node.host = host
        node.last_attempt_ms = now_ms
        node.setup_timeout_ms = self._setup_timeout.backoff_ms(node.failed_setups)
        self._connecting[node_id] = None

    def checking_api_versions(self, node_id: int) -> None:
        """Connected: the versions of the node are requested."""
        node = self._nodes[node_id]
        node.state = CONNECTION_STATES.next(node.state, ConnectionEvent.VERSIONS_REQUESTED)
        node.failed_setups = 0
        self._connecting.pop(node_id, None)

    def ready(self, node_id: int) -> None:
        """Requests may be sent; failures so far are forgotten."""
        node = self._nodes[node_id]
        node.state = CONNECTION_STATES.next(node.state, ConnectionEvent.VERSIONS_KNOWN)
        node.failed_attempts = node.failed_setups = 0
        node.reconnect_backoff_ms = self._reconnect_backoff.backoff_ms(0)
        node.last_error = None
        self._connecting.pop(node_id, None)

    def authentication_failed(self, node_id: int, now_ms: int, error: str) -> None:
        """The two do not accept each other; a later attempt is as free as after a lost connection."""
        self._down(node_id, ConnectionEvent.AUTHENTICATION_REFUSED, now_ms, error)

    def disconnected(self, node_id: int, now_ms: int, error: str | None = None) -> None:
        """The connection, or the attempt at one, is gone."""
        self._down(node_id, ConnectionEvent.CONNECTION_LOST, now_ms, error)

    def _down(self, node_id: int, event: ConnectionEvent, now_ms: int, error: str | None) -> None:
        node = self._nodes.get(node_id)
        if node is None:
            return
        if node_id in self._connecting:
            node.failed_setups += 1
            del self._connecting[node_id]
        node.state = CONNECTION_STATES.next(node.state, event)
        node.last_attempt_ms = now_ms
        node.reconnect_backoff_ms = self._reconnect_backoff.backoff_ms(node.failed_attempts)
        node.failed_attempts += 1
        node.throttled_until_ms = 0
        if error is not None:
            node.last_error = error

    def remove(self, node_id: int) -> None:
        """Forget a node."""
        self._nodes.pop(node_id, None)
        self._connecting.pop(node_id, None)

    def throttle(self, node_id: int, until_ms: int) -> None:
        """A broker throttles the client (KIP-219); a shorter throttle never cuts a longer one."""
        node = self._nodes.get(node_id)
        if node is not None and until_ms > node.throttled_until_ms:
            node.throttled_until_ms = until_ms

    def throttle_delay_ms(self, node_id: int, now_ms: int) -> int:
        """The milliseconds left of a throttle, 0 without one."""
        node = self._nodes.get(node_id)
        return max(node.throttled_until_ms - now_ms, 0) if node is not None else 0

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        """True if requests may be sent: ready, and not throttled."""
        node = self._nodes.get(node_id)
        return node is not None and node.state is ConnectionState.READY and node.throttled_until_ms <= now_ms

    def is_preparing(self, node_id: int) -> bool:
        """True from the connection attempt to the response with the versions."""
        return self.state(node_id) in _PREPARING

    def is_connecting(self, node_id: int) -> bool:
        """True if the connection is not there yet."""
        return node_id in self._connecting

    @property
    def is_any_connecting(self) -> bool:
        """True if any connection is not there yet."""
        return bool(self._connecting)

    def is_disconnected(self, node_id: int) -> bool:
        """True if the node was tried and has no connection."""
        node = self._nodes.get(node_id)
        return node is not None and node.state in _DOWN

    def last_attempt_ms(self, node_id: int) -> int:
        """When the node was last tried; 0 when never."""
        node = self._nodes.get(node_id)
        return node.last_attempt_ms if node is not None else 0

    def setup_timeout_ms(self, node_id: int) -> int:
        """The time limit of the current connection attempt."""
        return self._nodes[node_id].setup_timeout_ms

    def last_error(self, node_id: int) -> str | None:
        """Why the node's last connection ended, in words, until one is ready again."""
        node = self._nodes.get(node_id)
        return node.last_error if node is not None else None

    def nodes_with_setup_timeout(self, now_ms: int) -> list[int]:
        """The nodes whose connection attempt has taken too long."""
        return [
            node_id
            for node_id in self._connecting
            if now_ms - self._nodes[node_id].last_attempt_ms > self._nodes[node_id].setup_timeout_ms
        ]

    def next_setup_timeout_ms(self, now_ms: int) -> int:
        """How long until an attempt has taken too long; NEVER_MS when none is under way."""
        if not self._connecting:
            return NEVER_MS
        return min(
            max(node.last_attempt_ms + node.setup_timeout_ms + 1 - now_ms, 0)
            for node in (self._nodes[node_id] for node_id in self._connecting)
        )
