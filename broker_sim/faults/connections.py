"""Faults of client connections: which connections they apply to, and the stages that apply them.

The network layer registers each SocketServer here. While no fault is active that is all that happens. A fault applies
to the connections that are open and to those that follow, by the node and by the client id, which is read from the
first bytes of a connection; behind TLS, from its first request.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from random import Random

    from sim_runtime.shaped_transport import ShapedTransport
    from sim_runtime.wire_line import Stage
    from sim_runtime.wire_shaping import Impairment

__all__ = ["ConnectionFault", "ConnectionFaults", "ListenerFault", "Listening", "ShapedChannel", "ShapedServer"]

_FIRST_BYTES: Final = struct.Struct(">iHHih")
"""Size, API key, version, correlation id, and the length of the client id: the begin of every first request."""
_TLS: Final = (b"\x14\x03", b"\x15\x03", b"\x16\x03", b"\x17\x03")
"""The begin of each TLS record; as the size of a request, all are above 300 MB."""


class ShapedChannel(Protocol):
    """A connection of a SocketServer."""

    client_id: str | None
    """The client id of its requests; None for none, and before the first request."""
    shaping: Shaping | None
    """What this module notes about it."""
    on_client_id: Callable[[str], None] | None
    """Is called with the client id of its first request, empty for none."""

    @property
    def disconnected(self) -> bool:
        """True if its transport is disconnected."""

    @property
    def between_frames(self) -> bool:
        """True if its next bytes begin a request."""

    def shape(self, closed: Callable[[ShapedTransport], None]) -> ShapedTransport:
        """Put a layer between the transport and the channel, and return it."""


class Listening(Protocol):
    """The way in which the listeners of a SocketServer accept connections."""

    def refuse(self) -> None:
        """Refuse connections, as a port without a listener does."""

    def close_accepted(self) -> None:
        """Accept connections and close them."""

    def hold_accepts(self, size: int, accept_every_ms: float | None) -> None:
        """Let connections wait unaccepted, up to `size`; accept one per `accept_every_ms`, if that is given."""

    def restore(self) -> None:
        """Accept as usual."""


class ShapedServer(Protocol):
    """A SocketServer."""

    @property
    def node_id(self) -> int:
        """The id of its broker or controller."""

    @property
    def listening(self) -> Listening:
        """The ways to refuse connections."""

    def open_channels(self) -> Iterable[ShapedChannel]:
        """Return all connections."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConnectionFault:
    """Impairments of connections between `nodes` and clients whose id fits `client`, a pattern.

    Each connection that fits is chosen with the probability `share`, drawn from `random`, as are its jitter and loss.
    """

    nodes: Collection[int]
    client: str
    upstream: tuple[Impairment, ...]
    downstream: tuple[Impairment, ...]
    share: float
    random: Random


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListenerFault:
    """A fault of the listeners of `nodes`, begun by a call of `begin`; the last one that began holds."""

    nodes: Collection[int]
    begin: Callable[[Listening], None]


@dataclass(slots=True, kw_only=True)
class Shaping:
    """The faults that were considered for a connection, each with its stages: none if it was not chosen."""

    node_id: int
    client: str | None
    transport: ShapedTransport | None = None
    stages: dict[ConnectionFault, list[Stage]] = field(default_factory=dict)
    awaits_client: bool = False


class ConnectionFaults:
    """All faults of the connections and listeners of a cluster."""

    def __init__(self) -> None:
        self.active = False
        """True while a new connection must be reported by `connected`."""
        self._servers: dict[ShapedServer, None] = {}
        self._faults: dict[ConnectionFault, None] = {}
        self._listener_faults: dict[ListenerFault, None] = {}
        self._transports: dict[ShapedTransport, Shaping] = {}

    # Called by the network layer.

    def add_server(self, server: ShapedServer) -> None:
        """A SocketServer listens."""
        self._servers[server] = None
        if self._listener_faults:
            self._apply_to_listeners(server)

    def remove_server(self, server: ShapedServer) -> None:
        """A SocketServer has stopped."""
        self._servers.pop(server, None)

    def connected(self, channel: ShapedChannel, node_id: int) -> None:
        """A connection was accepted."""
        self._consider(channel, node_id)

    # Called by actions of rules.

    def begin(self, fault: ConnectionFault) -> None:
        """Apply a fault to the open connections and to later ones."""
        self._faults[fault] = None
        self.active = True
        for server in list(self._servers):
            if server.node_id in fault.nodes:
                for channel in list(server.open_channels()):
                    self._consider(channel, server.node_id)

    def end(self, fault: ConnectionFault) -> None:
        """End a fault: what it holds passes on."""
        self._faults.pop(fault, None)
        self.active = bool(self._faults)
        for shaping in list(self._transports.values()):
            for stage in shaping.stages.pop(fault, ()):
                stage.remove()

    def begin_at_listeners(self, fault: ListenerFault) -> None:
        """Apply a fault to the listeners."""
        self._listener_faults[fault] = None
        for server in list(self._servers):
            self._apply_to_listeners(server)

    def end_at_listeners(self, fault: ListenerFault) -> None:
        """End a fault of listeners; an earlier one that goes on holds again."""
        self._listener_faults.pop(fault, None)
        for server in list(self._servers):
            if server.node_id in fault.nodes:
                server.listening.restore()
                self._apply_to_listeners(server)

    def close_connections(self, *, nodes: Collection[int], client: str) -> int:
        """Close the open connections that fit in an orderly way, now; return their number."""
        found = [
            (channel, server.node_id)
            for server in self._servers
            if server.node_id in nodes
            for channel in server.open_channels()
            if not channel.disconnected and fnmatchcase(channel.client_id or "", client)
        ]
        for channel, node_id in found:
            self._transport_of(channel, self._shaping_of(channel, node_id)).loseConnection()
        return len(found)

    def close(self) -> None:
        """Reset the connections that a fault keeps open although their broker has closed them."""
        self._faults.clear()
        self.active = False
        for transport in list(self._transports):
            transport.abort()

    # Details.

    def _apply_to_listeners(self, server: ShapedServer) -> None:
        faults = [fault for fault in self._listener_faults if server.node_id in fault.nodes]
        if faults:
            faults[-1].begin(server.listening)

    def _consider(self, channel: ShapedChannel, node_id: int) -> None:
        """Apply the faults that have not been considered for a connection yet."""
        if channel.disconnected:
            return
        shaping = self._shaping_of(channel, node_id)
        for fault in self._faults:
            if fault in shaping.stages or node_id not in fault.nodes:
                continue
            if fault.client == "*" or (shaping.client is not None and fnmatchcase(shaping.client, fault.client)):
                self._apply(fault, channel, shaping)
            elif shaping.client is None and not shaping.awaits_client:
                self._await_client(channel, shaping)

    def _shaping_of(self, channel: ShapedChannel, node_id: int) -> Shaping:
        shaping = channel.shaping
        if shaping is None:
            shaping = channel.shaping = Shaping(node_id=node_id, client=channel.client_id)
        return shaping

    def _await_client(self, channel: ShapedChannel, shaping: Shaping) -> None:
        """Consider the faults again when the client id is known."""
        from sim_runtime.wire_stages import PeekStage

        shaping.awaits_client = True

        def know(client: str) -> None:
            shaping.client = client
            channel.on_client_id = None
            self._consider(channel, shaping.node_id)

        def peek(first: bytes) -> bool:
            client = None if first.startswith(_TLS) else _client_of(first)
            if client is not None:
                know(client)
            return client is not None or first.startswith(_TLS)

        channel.on_client_id = know
        if channel.between_frames:
            upstream = self._transport_of(channel, shaping).upstream
            upstream.add(PeekStage(upstream, peek))

    def _apply(self, fault: ConnectionFault, channel: ShapedChannel, shaping: Shaping) -> None:
        stages = shaping.stages[fault] = []
        if fault.share < 1 and fault.random.random() >= fault.share:
            return
        transport = self._transport_of(channel, shaping)
        for line, impairments in ((transport.upstream, fault.upstream), (transport.downstream, fault.downstream)):
            for impairment in impairments:
                stage = impairment.stage(line, fault.random)
                stages.append(stage)
                line.add(stage)

    def _transport_of(self, channel: ShapedChannel, shaping: Shaping) -> ShapedTransport:
        if shaping.transport is None:
            shaping.transport = channel.shape(self._closed)
            self._transports[shaping.transport] = shaping
        return shaping.transport

    def _closed(self, transport: ShapedTransport) -> None:
        self._transports.pop(transport, None)


def _client_of(first: bytes) -> str | None:
    """Return the client id in the first bytes of a connection, empty for none; None if they do not suffice."""
    if len(first) < _FIRST_BYTES.size:
        return None
    length = max(0, _FIRST_BYTES.unpack_from(first)[-1])
    client = first[_FIRST_BYTES.size : _FIRST_BYTES.size + length]
    return client.decode("utf-8", "replace") if len(client) == length else None
