"""Limits for the number and rate of connections, per broker, listener and address. Mirrors ConnectionQuotas.

- `max.connections` (broker and listener): a new connection waits until another one closes.
- `max.connection.creation.rate` (broker and listener): the Acceptor waits, and delays all later connections too.
- `max.connections.per.ip` (and its overrides): the new connection is closed immediately.
- `connection_creation_rate` of an address (a client quota of an ip entity, KIP-612): the new connection is closed at
  the end of the throttle time; broker and listener do not count it.

The inter-broker listener is protected when there are others: broker-wide limits do not apply to it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from broker_sim.errors import BrokerSimError
from broker_sim.quotas.client_quotas_image import IP
from broker_sim.quotas.inet_address import normal_address
from broker_sim.quotas.rate import UNBOUNDED, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.quotas.client_quotas_image import ClientQuotasImage

__all__ = ["ConnectionQuotas", "ConnectionThrottled", "TooManyConnections", "apply_ip_rates"]

CONNECTION_RATE: Final = "connection_creation_rate"
INT_MAX: Final = 2**31 - 1
"""The default of every limit here: unlimited."""
ADDRESSES_MAX: Final = 10_000
"""The maximum number of addresses with a rate of their own; the least recently counted one is removed first."""


class TooManyConnections(BrokerSimError):
    """An address has reached its maximum number of connections. Mirrors TooManyConnectionsException."""

    def __init__(self, address: str, limit: int) -> None:
        super().__init__(address, limit)
        self.address = address
        self.limit = limit

    def __str__(self) -> str:
        return f"too many connections from {self.address} (maximum = {self.limit}, max.connections.per.ip)"


class ConnectionThrottled(BrokerSimError):
    """An address exceeds its connection creation rate. Mirrors ConnectionThrottledException."""

    def __init__(self, address: str, throttle_ms: int) -> None:
        super().__init__(address, throttle_ms)
        self.address = address
        self.throttle_ms = throttle_ms

    def __str__(self) -> str:
        return f"{self.address} is throttled for {self.throttle_ms} ms (connection_creation_rate)"


class _Listener:
    __slots__ = ("count", "max_connections", "rate")

    def __init__(self, max_connections: int, rate: Rate) -> None:
        self.max_connections = max_connections
        self.rate = rate
        self.count = 0


class ConnectionQuotas:
    """Counts connections per listener and per client address; an Acceptor checks it before it assigns a connection."""

    def __init__(
        self,
        *,
        max_connections: int = INT_MAX,
        max_connections_per_ip: int = INT_MAX,
        overrides: Mapping[str, int] | None = None,
        max_creation_rate: int = INT_MAX,
        window_num: int = 11,
        window_size_s: int = 1,
        protected_listener: str | None = None,
    ) -> None:
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self._limits: dict[str, int] = {}
        self.set_overrides(overrides or {})
        self.total = 0
        self._by_address: dict[str, int] = {}
        self._listeners: dict[str, _Listener] = {}
        self._protected_listener = protected_listener
        self._window_num = window_num
        self._window_ms = window_size_s * 1000
        self._throttle_ms_max = window_size_s * 1000
        self._rate = self._new_rate(max_creation_rate)
        self._default_ip_rate: float = UNBOUNDED
        self._ip_rates: dict[str, float] = {}
        self._rate_by_address: dict[str, Rate] = {}

    def set_overrides(self, overrides: Mapping[str, int]) -> None:
        """Set the limits of single addresses and names; of two names of one address the later one counts."""
        self._limits = {normal_address(name) or name: limit for name, limit in overrides.items()}

    def add_listener(self, name: str, *, max_connections: int = INT_MAX, max_creation_rate: int = INT_MAX) -> None:
        """Count a listener's connections; its own limits apply in addition to the broker's."""
        self._listeners[name] = _Listener(max_connections, self._new_rate(max_creation_rate))

    # Counting.

    def slot_available(self, listener: str) -> bool:
        """True if `max.connections` allows one more connection at a listener."""
        quota = self._listeners[listener]
        if quota.count >= quota.max_connections:
            return False
        return self.is_protected(listener) or self.total < self.max_connections

    @property
    def excess(self) -> int:
        """The number of connections above `max.connections`, after the limit was lowered."""
        return max(0, self.total - self.max_connections)

    def creation_throttle_ms(self, listener: str, now_ms: int) -> int:
        """Count a new connection in the rates of broker and listener; return the time that its Acceptor has to wait."""
        throttle_ms = 0
        if not self.is_protected(listener):
            throttle_ms = self._record(self._rate, now_ms)
        return max(throttle_ms, self._record(self._listeners[listener].rate, now_ms))

    def increment(self, listener: str, address: str, now_ms: int) -> None:
        """Count a connection. A refused one is not counted.

        Raises:
            ConnectionThrottled: The address exceeds its `connection_creation_rate`.
            TooManyConnections: The address has `max.connections.per.ip` connections.
        """
        self._check_ip_rate(listener, address, now_ms)
        count = self._by_address.get(address, 0)
        limit = self._limits.get(address, self.max_connections_per_ip)
        if count >= limit:
            raise TooManyConnections(address, limit)
        self._by_address[address] = count + 1
        self._listeners[listener].count += 1
        self.total += 1

    def decrement(self, listener: str, address: str) -> None:
        """Release a counted connection."""
        count = self._by_address[address]
        if count == 1:
            del self._by_address[address]
        else:
            self._by_address[address] = count - 1
        self._listeners[listener].count -= 1
        self.total -= 1

    def count(self, address: str) -> int:
        """Return the number of open connections of one address."""
        return self._by_address.get(address, 0)

    def listener_count(self, listener: str) -> int:
        """Return the number of open connections of one listener."""
        return self._listeners[listener].count

    # Limits that change while the broker runs.

    def set_max_creation_rate(self, rate: int, *, listener: str | None = None) -> None:
        """Set `max.connection.creation.rate` of the broker, or of a listener."""
        quota = self._rate if listener is None else self._listeners[listener].rate
        quota.bound = _bound(rate)

    def set_listener_max_connections(self, listener: str, limit: int) -> None:
        """Set `max.connections` of a listener."""
        self._listeners[listener].max_connections = limit

    def set_ip_rates(self, default: float | None, rates: Mapping[str, float]) -> None:
        """Set the `connection_creation_rate` quotas: the default, and those of single addresses."""
        self._default_ip_rate = UNBOUNDED if default is None else _bound(default)
        self._ip_rates = {address: _bound(rate) for address, rate in rates.items()}
        for address, rate in self._rate_by_address.items():
            rate.bound = self.ip_rate(address)

    def ip_rate(self, address: str) -> float:
        """Return the number of connections per second that an address may open."""
        return self._ip_rates.get(address, self._default_ip_rate)

    def _check_ip_rate(self, listener: str, address: str, now_ms: int) -> None:
        bound = self.ip_rate(address)
        if bound == UNBOUNDED:
            return
        rate = self._rate_by_address.pop(address, None)
        if rate is None:
            if len(self._rate_by_address) >= ADDRESSES_MAX:
                del self._rate_by_address[next(iter(self._rate_by_address))]
            rate = self._new_rate(bound)
        self._rate_by_address[address] = rate
        throttle_ms = self._record(rate, now_ms)
        if throttle_ms > 0:
            rate.record(-1, now_ms)
            if not self.is_protected(listener):
                self._rate.record(-1, now_ms)
            self._listeners[listener].rate.record(-1, now_ms)
            raise ConnectionThrottled(address, throttle_ms)

    def _record(self, rate: Rate, now_ms: int) -> int:
        rate.record(1, now_ms)
        return min(rate.throttle_ms(now_ms), self._throttle_ms_max)

    def _new_rate(self, rate: float) -> Rate:
        return Rate(bound=_bound(rate), samples=self._window_num, window_ms=self._window_ms)

    def is_protected(self, listener: str) -> bool:
        """True for the inter-broker listener, if there are others: broker-wide limits do not apply to it."""
        return listener == self._protected_listener and len(self._listeners) > 1


def apply_ip_rates(quotas: ConnectionQuotas, image: ClientQuotasImage) -> None:
    """Apply the `connection_creation_rate` quotas of the metadata. Mirrors ClientQuotaMetadataManager."""
    default: float | None = None
    rates: dict[str, float] = {}
    for entity, values in image.items():
        names = entity.names
        if IP not in names or CONNECTION_RATE not in values:
            continue
        # As Java's Double.toInt: an address with a rate of NaN opens no connection.
        value = values[CONNECTION_RATE]
        rate = 0 if math.isnan(value) else int(value)
        address = names[IP]
        if address is None:
            default = rate
        else:
            normal = normal_address(address)
            assert normal is not None, "the controller has checked it"
            rates[normal] = rate
    quotas.set_ip_rates(default, rates)


def _bound(rate: float) -> float:
    return UNBOUNDED if rate >= INT_MAX else rate
