"""How many connections a broker accepts, in all and per address. Mirrors SocketServer's ConnectionQuotas.

`max.connections` makes a connection wait until another one closes; `max.connections.per.ip` (and its overrides)
closes the newcomer at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConnectionQuotas", "TooManyConnections"]


class TooManyConnections(BrokerSimError):
    """An address has as many connections as it may have. Mirrors TooManyConnectionsException."""

    def __init__(self, address: str, limit: int) -> None:
        super().__init__(address, limit)
        self.address = address
        self.limit = limit

    def __str__(self) -> str:
        return f"too many connections from {self.address} (maximum = {self.limit}, max.connections.per.ip)"


class ConnectionQuotas:
    """Counts connections by client address; the Acceptor asks before it hands a connection on."""

    __slots__ = ("_by_address", "max_connections", "max_connections_per_ip", "overrides", "total")

    def __init__(self, *, max_connections: int, max_connections_per_ip: int, overrides: Mapping[str, int]) -> None:
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.overrides = dict(overrides)
        self.total = 0
        self._by_address: dict[str, int] = {}

    @property
    def slot_available(self) -> bool:
        """Whether `max.connections` leaves room for one more."""
        return self.total < self.max_connections

    def increment(self, address: str) -> None:
        """Count a connection; raises TooManyConnections, and then nothing is counted."""
        count = self._by_address.get(address, 0)
        limit = self.overrides.get(address, self.max_connections_per_ip)
        if count >= limit:
            raise TooManyConnections(address, limit)
        self._by_address[address] = count + 1
        self.total += 1

    def decrement(self, address: str) -> None:
        """Release a counted connection."""
        count = self._by_address[address]
        if count == 1:
            del self._by_address[address]
        else:
            self._by_address[address] = count - 1
        self.total -= 1

    def count(self, address: str) -> int:
        """Connections of one address now."""
        return self._by_address.get(address, 0)


def parse_overrides(text: str) -> dict[str, int]:
    """`max.connections.per.ip.overrides` as its value is written: `host:limit,host:limit`."""
    overrides = {}
    for entry in text.split(","):
        host, _, limit = entry.strip().rpartition(":")
        if host:
            overrides[host] = int(limit)
    return overrides
