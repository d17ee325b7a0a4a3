"""One machine of the simulated network: an interface of the virtual reactor whose sockets belong to this host."""

# ruff: noqa: A002, ARG002, N802, N803
# The names are those of Twisted's interfaces.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import (
    IHostnameResolver,
    IHostResolution,
    IReactorPluggableNameResolver,
    IResolutionReceiver,
)
from zope.interface import implementer

from sim_runtime.interfaces import IReactor
from sim_runtime.virtual_connection import VirtualConnector, VirtualListeningPort
from sim_runtime.virtual_reactor import VirtualCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IAddress
    from twisted.internet.protocol import ClientFactory, ServerFactory

    from sim_runtime.virtual_network import VirtualNetwork
    from sim_runtime.virtual_transport import VirtualTransport

__all__ = ["HostReactor"]

FREE_PORT_FIRST: Final = 32_768
FREE_PORT_LAST: Final = 60_999


@implementer(IReactor, IReactorPluggableNameResolver)
class HostReactor:
    """The reactor of the programs on this host. `localhost` and `127.0.0.1` are the host itself."""

    def __init__(self, network: VirtualNetwork, name: str, ip: str) -> None:
        self.network = network
        self.core = network.reactor
        self.name = name
        self.ip = ip
        self.nameResolver: IHostnameResolver = _NetworkResolver(self)
        self.running = True
        self.is_stopped = False
        """True while the processes of this host are stopped; its kernel still accepts connections and bytes."""
        self._call_type = type("HostCall", (VirtualCall,), {"__slots__": (), "process": self})
        self._kept_calls: list[VirtualCall] = []
        self._kept_actions: list[Callable[[], object]] = []
        self._listeners: dict[int, VirtualListeningPort] = {}
        self._transports: dict[VirtualTransport, None] = {}
        self._next_port = FREE_PORT_FIRST

    def seconds(self) -> float:
        """Virtual time, in seconds since the epoch."""
        return self.core.now_us / 1e6

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kwargs: object) -> VirtualCall:
        """As VirtualReactor.callLater."""
        return self.core.schedule(self._call_type, delay, callable, args, kwargs or None)

    def getDelayedCalls(self) -> Sequence[VirtualCall]:
        """The pending calls of the whole simulation."""
        return self.core.getDelayedCalls()

    def callWhenRunning(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        """Call at once, because a virtual reactor always runs."""
        callable(*args, **kwargs)

    def installNameResolver(self, resolver: IHostnameResolver) -> IHostnameResolver:
        """Replace the name resolver of HostnameEndpoint; return the previous one."""
        previous, self.nameResolver = self.nameResolver, resolver
        return previous

    def listenTCP(
        self, port: int, factory: ServerFactory[Any], backlog: int = 50, interface: str = ""
    ) -> VirtualListeningPort:
        """Listen on this host; port 0 gets a free one. A virtual listener accepts at once and ignores the backlog."""
        del backlog
        listener = VirtualListeningPort(self, port or self._free_port(), factory, interface)
        listener.startListening()
        return listener

    def connectTCP(
        self,
        host: str,
        port: int,
        factory: ClientFactory[Any],
        timeout: float = 30.0,
        bindAddress: tuple[str, int] | None = None,
    ) -> VirtualConnector:
        """Connect from this host to the host of that name or ip."""
        connector = VirtualConnector(self, host, port, factory, timeout, bindAddress)
        connector.connect()
        return connector

    def stop_process(self) -> None:
        """Stop the processes of this host, as SIGSTOP does: no timer fires and nothing is read, accepted or written."""
        self.is_stopped = True

    def continue_process(self) -> None:
        """Continue the processes, as SIGCONT does: timers that are due fire, bytes that have arrived are read."""
        self.is_stopped = False
        calls, self._kept_calls = self._kept_calls, []
        for call in calls:
            self.core.make_due(call)
        actions, self._kept_actions = self._kept_actions, []
        for action in actions:
            self.core.callLater(0, action)
        for transport in list(self._transports):
            transport.continue_after_stop()

    def keep(self, call: VirtualCall) -> None:
        """Keep a call until the processes continue."""
        self._kept_calls.append(call)

    def perform(self, action: Callable[[], object]) -> None:
        """Call into a program of this host, later if it is stopped."""
        if self.is_stopped:
            self._kept_actions.append(action)
        else:
            action()

    def crash(self) -> None:
        """Kill the process on this host: listeners close, connections are reset. Its owner cancels the timers."""
        self.is_stopped = False
        self._kept_actions = []
        for listener in list(self._listeners.values()):
            listener.close()
        for transport in list(self._transports):
            transport.crash()

    def resolve_host(self, name: str) -> HostReactor | None:
        """The host called `name`, which may be its ip, as seen from here."""
        if name in {"localhost", "127.0.0.1"}:
            return self
        return self.network.find_host(name)

    # Called by the sockets of this host

    def bind(self, listener: VirtualListeningPort) -> bool:
        """Bind the port of `listener`; False if it is in use."""
        if listener.port in self._listeners:
            return False
        self._listeners[listener.port] = listener
        return True

    def unbind(self, listener: VirtualListeningPort) -> None:
        """Release the port."""
        del self._listeners[listener.port]

    def open_connection(
        self, connector: VirtualConnector, host: str, port: int, local_port: int
    ) -> VirtualTransport | None:
        """Send the first segment of a connection; None when there is no such host."""
        target = self.resolve_host(host)
        if target is None:
            return None
        here = IPv4Address("TCP", self.ip, local_port or self._free_port())
        there = IPv4Address("TCP", target.ip, port)
        client = self.network.make_connection(self, here, target, there)
        self._transports[client] = None
        client.connector = connector
        client.begin()
        return client

    def receive_syn(self, transport: VirtualTransport) -> None:
        """Handle a connection request; `transport` would be this host's end."""
        transport.listener = listener = self._listeners.get(transport.getHost().port)
        if listener is None:
            transport.refuse()
        elif listener.has_room(transport):
            self._transports[transport] = None
            transport.accept_handshake()

    def forget(self, transport: VirtualTransport) -> None:
        """`transport` is closed."""
        self._transports.pop(transport, None)

    def __repr__(self) -> str:
        return f"<HostReactor {self.name} {self.ip}>"

    def _free_port(self) -> int:
        while True:
            port = self._next_port
            self._next_port = port + 1 if port < FREE_PORT_LAST else FREE_PORT_FIRST
            if port not in self._listeners:
                return port


@implementer(IHostResolution)
class _Resolution:
    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """Do nothing: the result is immediate."""


@implementer(IHostnameResolver)
class _NetworkResolver:
    """The names of the network's hosts, for Twisted's HostnameEndpoint."""

    def __init__(self, host: HostReactor) -> None:
        self._host = host

    def resolveHostName(
        self,
        resolutionReceiver: IResolutionReceiver,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type[IAddress]] | None = None,
        transportSemantics: str = "TCP",
    ) -> IHostResolution:
        """Report the host's only address, or none."""
        resolution = _Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        found = self._host.resolve_host(hostName)
        if found is not None:
            resolutionReceiver.addressResolved(IPv4Address("TCP", found.ip, portNumber))
        resolutionReceiver.resolutionComplete()
        return resolution
