"""A world in which a schedule decides which segment of which connection arrives next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_runtime.stepped_reactor import SteppedReactor
from sim_runtime.virtual_flow import Flow, Segment, SegmentKind
from sim_runtime.virtual_network import VirtualNetwork
from sim_runtime.world import World

if TYPE_CHECKING:
    from sim_runtime.link import Link
    from sim_runtime.random_streams import RandomStreams
    from sim_runtime.virtual_transport import VirtualTransport

__all__ = ["SteppedFlow", "SteppedNetwork", "SteppedWorld"]


class SteppedFlow(Flow):
    """One direction of a connection as a lane: each write is one message, in order.

    What a socket has accepted is on its way, also after its process has died.
    """

    __slots__ = ("_stepped",)

    def __init__(
        self,
        network: SteppedNetwork,
        link: Link,
        sender: VirtualTransport,
        receiver: VirtualTransport,
        reactor: SteppedReactor,
    ) -> None:
        super().__init__(network, link, sender, receiver)
        self._stepped = reactor

    @property
    def source(self) -> str:
        """The host that sends."""
        return self.link.source

    @property
    def target(self) -> str:
        """The host that receives."""
        return self.link.target

    @property
    def name(self) -> str:
        """The hosts and ports of both ends."""
        here, there = self.sender.getHost(), self.sender.getPeer()
        return f"{self.source}:{here.port} -> {self.target}:{there.port}"

    @property
    def is_ready(self) -> bool:
        """True if a segment is in flight on an open link."""
        return bool(self._in_flight) and not self.link.blocked

    @property
    def head(self) -> tuple[SegmentKind, bytes]:
        """The kind and the bytes of the segment that arrives next."""
        first = self._in_flight[0]
        return first.kind, first.data

    @property
    def is_from_client(self) -> bool:
        """True if the sender has opened the connection."""
        return self.sender.connector is not None

    @property
    def can_be_lost(self) -> bool:
        """True if the next segment has bytes: a lost signal would be sent again."""
        return self._in_flight[0].kind is SegmentKind.DATA

    def lose(self) -> None:
        """Lose the next segment, with everything that is in flight both ways: the connection breaks at both ends."""
        ends = (self.sender, self.receiver)
        for end in ends:
            end.flow.clear()
        for end in ends:
            end.break_off()

    def deliver(self) -> None:
        """Let the next segment arrive."""
        self._arrive()

    def send_data(self, data: bytes) -> None:
        """Send `data` as one message."""
        self.send(SegmentKind.DATA, data)

    def abandon(self) -> None:
        """Drop nothing, unless the link loses it anyway."""
        if self.link.is_cut:
            super().abandon()

    def resume(self) -> None:
        """The link is open again."""
        self._stop_waiting()
        self._stepped.offer(self)

    def send(self, kind: SegmentKind, data: bytes = b"") -> None:
        """Send one message."""
        link, now_us = self.link, self._reactor.now_us
        if link.blocked:
            self._send_blocked(kind, data, now_us)
            return
        if not self._in_flight:
            link.add(self)
        self._in_flight.append(Segment(kind, data, now_us, now_us))
        self._stepped.offer(self)


class SteppedNetwork(VirtualNetwork):
    """A network whose connections are lanes."""

    def __init__(self, reactor: SteppedReactor, streams: RandomStreams) -> None:
        super().__init__(reactor, streams)
        self._stepped = reactor

    def _make_flow(self, link: Link, sender: VirtualTransport, receiver: VirtualTransport) -> Flow:
        return SteppedFlow(self, link, sender, receiver, self._stepped)


class SteppedWorld(World):
    """A world on a SteppedReactor."""

    __slots__ = ("stepped",)

    stepped: SteppedReactor

    def _make_reactor(self) -> SteppedReactor:
        self.stepped = SteppedReactor()
        return self.stepped

    def _make_network(self) -> SteppedNetwork:
        return SteppedNetwork(self.stepped, self.streams)
