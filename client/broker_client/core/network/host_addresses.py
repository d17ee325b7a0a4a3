"""Connects to a node by one address of its name after the other (KIP-302).

Mirrors NodeConnectionState and HostResolver.
Every attempt takes the next address; when all were tried, and after a connection that was made, the name is resolved
anew, and the address that was tried last is left out when it comes first. As in ClientUtils only addresses of the
family of the first one count. A reactor without a name resolver, a simulated one, is given the name itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IResolutionReceiver
from twisted.python.failure import Failure
from zope.interface import implementer

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IConnector, IHostnameResolver, IHostResolution
    from twisted.internet.protocol import ClientFactory

    from sim_runtime.interfaces import IReactor

__all__ = ["ConnectionAttempt", "HostAddresses"]


class ConnectionAttempt(Protocol):
    """The handle of a connection attempt: Twisted's connector, or one that waits for name resolution."""

    def disconnect(self) -> None:
        """Give it up."""
        ...


@dataclass(slots=True)
class _Addresses:
    """Those of a node's name that are still to be tried."""

    host: str
    left: list[str] = field(default_factory=list)
    last_tried: str = ""


class HostAddresses:
    """The addresses of all nodes of a client."""

    __slots__ = ("_nodes", "_reactor", "_resolver")

    def __init__(self, reactor: IReactor) -> None:
        self._reactor = reactor
        self._resolver: IHostnameResolver | None = getattr(reactor, "nameResolver", None)
        self._nodes: dict[int, _Addresses] = {}

    def connect(
        self, node_id: int, host: str, port: int, factory: ClientFactory[Any], timeout_s: float
    ) -> ConnectionAttempt:
        """Begin a connection to the node's next address."""
        if self._resolver is None or isIPAddress(host) or isIPv6Address(host):
            return cast("ConnectionAttempt", self._reactor.connectTCP(host, port, factory, timeout_s))
        known = self._nodes.get(node_id)
        if known is None or known.host != host:
            known = self._nodes[node_id] = _Addresses(host)
        attempt = _NamedAttempt(self._reactor, known, port, factory, timeout_s)
        if known.left:
            attempt.connect()
        else:
            self._resolver.resolveHostName(attempt, host, port)
        return attempt

    def connected(self, node_id: int) -> None:
        """The connection was made: for the next one the name is resolved anew."""
        known = self._nodes.get(node_id)
        if known is not None:
            known.left.clear()


@implementer(IResolutionReceiver)
class _NamedAttempt:
    """One attempt: it waits for the name, then it is a connector's."""

    def __init__(
        self, reactor: IReactor, addresses: _Addresses, port: int, factory: ClientFactory[Any], timeout_s: float
    ) -> None:
        self._reactor = reactor
        self._addresses = addresses
        self._port = port
        self._factory = factory
        self._timeout_s = timeout_s
        self._resolved: list[str] = []
        self._connector: IConnector | None = None
        self._given_up = False

    def connect(self) -> None:
        """Take the next address."""
        address = self._addresses.left.pop(0)
        self._addresses.last_tried = address
        self._connector = self._reactor.connectTCP(address, self._port, self._factory, self._timeout_s)

    def disconnect(self) -> None:
        """End the attempt; during name resolution without a report."""
        self._given_up = True
        if self._connector is not None:
            self._connector.disconnect()

    def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:  # noqa: N802, N803
        """The resolver has begun; it cannot be stopped."""

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        """One of the addresses."""
        self._resolved.append(cast("Any", address).host)

    def resolutionComplete(self) -> None:  # noqa: N802
        """All of them."""
        if self._given_up:
            return
        addresses = _of_one_family(self._resolved)
        if not addresses:
            error = DNSLookupError(f"no results for hostname lookup: {self._addresses.host}")
            self._factory.clientConnectionFailed(cast("Any", self), Failure(error))
            return
        if len(addresses) > 1 and addresses[0] == self._addresses.last_tried:
            del addresses[0]
        self._addresses.left = addresses
        self.connect()


def _of_one_family(resolved: list[str]) -> list[str]:
    kept: list[str] = []
    for address in resolved:
        if address not in kept and isIPv6Address(address) is isIPv6Address(resolved[0]):
            kept.append(address)
    return kept
