"""The listener of the proxy for one broker: a ShapedServer, so that faults of connections and listeners apply to it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from twisted.internet.protocol import ServerFactory

from broker_sim.config.broker_listeners import KERNEL_BACKLOG
from broker_sim.wire_proxy.proxied_connection import ClientSide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.internet.interfaces import IAddress, IListeningPort

    from broker_sim.network.admission import Admission, Admissions
    from broker_sim.network.socket_server import SocketServer
    from broker_sim.wire_proxy.wire_proxy import WireProxy

__all__ = ["ProxyListener"]


class ProxyListener(ServerFactory):
    """Listens for the clients of the broker `node_id`; it has the names of an Acceptor and of its SocketServer."""

    noisy = False

    def __init__(self, proxy: WireProxy, node_id: int, host: str, port: int = 0) -> None:
        self.proxy = proxy
        self.node_id = node_id
        self.host = host
        self.bound_port = port
        self.reactor = proxy.reactor
        self.port: IListeningPort | None = None
        self.admission: Admission | None = None
        self.stopped = False
        self._channels: dict[ClientSide, None] = {}
        self._outlived: dict[ClientSide, None] = {}

    @property
    def server(self) -> Self:
        """This listener."""
        return self

    @property
    def acceptors(self) -> dict[str, Self]:
        """This listener alone."""
        return {"": self}

    @cached_property
    def listening(self) -> Admissions:
        """The faults of this listener."""
        from broker_sim.network.admission import Admissions

        return Admissions(cast("SocketServer", self))

    def target(self) -> tuple[str, int]:
        """Return the address of the broker."""
        return self.proxy.target_of(self.node_id)

    def listen(self) -> None:
        """Bind and listen; the port stays the same."""
        self.port = self.reactor.listenTCP(self.bound_port, self, KERNEL_BACKLOG, self.host)
        address: Any = self.port.getHost()
        self.bound_port = int(address.port)

    def stop_listening(self) -> object:
        """Close the socket; connections stay."""
        port, self.port = self.port, None
        return None if port is None else port.stopListening()

    def open_channels(self) -> Iterable[ClientSide]:
        """Return all connections."""
        return list(self._channels)

    def buildProtocol(self, addr: IAddress | None) -> ClientSide | None:  # noqa: N802
        """Make the client's side of a connection."""
        if self.admission is not None and not self.admission.admits(addr):
            return None
        return ClientSide(self, addr)

    def connected(self, channel: ClientSide) -> None:
        """A connection is open."""
        self._channels[channel] = None
        faults = self.proxy.faults.connections
        if faults.active:
            faults.connected(channel, self.node_id)

    def forget(self, channel: ClientSide) -> None:
        """A connection is closed."""
        self._channels.pop(channel, None)
        self._outlived.pop(channel, None)

    def outlived(self, channel: ClientSide) -> None:
        """The client of a connection has gone, and requests of it are held."""
        self._outlived[channel] = None

    def stop(self) -> object:
        """Close the socket and reset all connections."""
        self.stopped = True
        if "listening" in self.__dict__:
            self.listening.restore()
        for channel in [*self._channels, *self._outlived]:
            channel.abort()
        return self.stop_listening()
