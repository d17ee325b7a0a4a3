"""One direction of a simulated TCP connection: its segments in transit over a link, in order."""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    from sim_runtime.link import Link
    from sim_runtime.virtual_network import VirtualNetwork
    from sim_runtime.virtual_reactor import VirtualCall
    from sim_runtime.virtual_transport import VirtualTransport

__all__ = ["Flow", "Segment", "SegmentKind"]


class SegmentKind(IntEnum):
    """The effect of a segment at its receiver."""

    SYN = 0
    SYN_ACK = 1
    ESTABLISHED = 2  # the handshake's last acknowledgement: now the listener accepts
    DATA = 3
    ACK = 4  # room in the window; sent only if a sender waits for it
    FIN = 5
    RST = 6


_HANDSHAKE: Final = frozenset({SegmentKind.SYN, SegmentKind.SYN_ACK})
_ACKNOWLEDGED: Final = frozenset({SegmentKind.DATA, SegmentKind.FIN})
_DATA: Final = SegmentKind.DATA
_ACK: Final = SegmentKind.ACK
_RST: Final = SegmentKind.RST


class Segment:
    """Bytes that arrive at once, or a signal."""

    __slots__ = ("call", "data", "due_us", "kind", "parts", "sent_us", "size")

    def __init__(self, kind: SegmentKind, data: bytes, sent_us: int, due_us: int) -> None:
        self.kind = kind
        self.data = data
        self.size = len(data)
        self.parts: list[bytes] | None = None
        self.sent_us = sent_us
        self.due_us = due_us
        self.call: VirtualCall | None = None


class Flow:
    """The bytes from one transport to the other. Segments arrive in the order in which they were sent."""

    __slots__ = (
        "_acknowledging",
        "_give_up",
        "_in_flight",
        "_last_due_us",
        "_lost_us",
        "_network",
        "_reactor",
        "is_encrypted",
        "link",
        "number",
        "receiver",
        "sender",
    )

    def __init__(
        self, network: VirtualNetwork, link: Link, sender: VirtualTransport, receiver: VirtualTransport
    ) -> None:
        self.number = network.next_flow_number()
        self.link = link
        self.sender = sender
        self.receiver = receiver
        self.is_encrypted = False
        """True if the bytes are ciphertext, which no seed repeats: their number alone counts as an event of the run."""
        self._network = network
        self._reactor = network.reactor
        self._in_flight: deque[Segment] = deque()
        self._acknowledging = False
        self._last_due_us = 0
        self._lost_us: int | None = None
        self._give_up: VirtualCall | None = None

    def send_data(self, data: bytes) -> None:
        """Send `data` in segments of the link's size; bytes sent at the same time share a segment while they fit."""
        limit = self.link.segment_bytes
        if self._in_flight and self.link.bandwidth_bytes_per_s is None:
            last = self._in_flight[-1]
            if (
                last.kind is _DATA
                and last.sent_us == self._reactor.now_us
                and last.size + len(data) <= limit
                and not self.link.blocked
            ):
                if last.parts is None:
                    last.parts = [last.data]
                last.parts.append(data)
                last.size += len(data)
                return
        if len(data) <= limit:
            self.send(_DATA, data)
            return
        view = memoryview(data)
        for begin in range(0, len(data), limit):
            self.send(_DATA, bytes(view[begin : begin + limit]))

    def send(self, kind: SegmentKind, data: bytes = b"") -> None:
        """Send one segment."""
        link = self.link
        now_us = self._reactor.now_us
        if link.blocked:
            self._send_blocked(kind, data, now_us)
            return
        self._last_due_us = due_us = max(link.arrival_us(now_us, len(data)), self._last_due_us)
        segment = Segment(kind, data, now_us, due_us)
        segment.call = self._reactor.call_at_us(due_us, self._arrive)
        if not self._in_flight:
            link.add(self)
        self._in_flight.append(segment)

    def acknowledge(self) -> None:
        """Notify the receiver that there is room again; one such segment in transit is enough."""
        if not self._acknowledging:
            self._acknowledging = True
            self.send(_ACK)

    def abandon(self) -> None:
        """The sender's socket is closed: drop the bytes that have not left it yet."""
        if self.link.is_cut:
            self._forget(list(self._in_flight))
            return
        # Twisted writes in its next loop iteration: bytes written at this time are still at the sender.
        now_us = self._reactor.now_us
        unsent = [item for item in self._in_flight if item.kind is _DATA and item.sent_us == now_us]
        self._forget(unsent)

    def clear(self) -> None:
        """Lose everything in flight."""
        self._forget(list(self._in_flight))

    def stall(self) -> None:
        """The link is blocked: nothing arrives until `resume`, and everything is lost if it is cut."""
        lost = self.link.is_cut
        if lost:
            self._forget([segment for segment in self._in_flight if segment.kind is _RST])
            if not self._in_flight:
                return
            if self._lost_us is None:
                self._lost_us = self._reactor.now_us
        for segment in self._in_flight:
            if segment.call is not None:
                segment.call.cancel()
                segment.call = None
        self._last_due_us = 0
        self._arm_give_up()

    def resume(self) -> None:
        """The link is open again: held segments arrive now, lost ones when TCP retransmits them."""
        lost_us = self._lost_us
        self._stop_waiting()
        now_us = self._reactor.now_us
        earliest_us = now_us
        if lost_us is not None:
            handshake = self._in_flight[0].kind in _HANDSHAKE
            earliest_us = self.link.retransmission_us(lost_us, now_us, handshake=handshake)
        for segment in self._in_flight:
            due_us = max(earliest_us, segment.due_us, self._last_due_us)
            segment.due_us = self._last_due_us = due_us
            segment.call = self._reactor.call_at_us(due_us, self._arrive)

    def _send_blocked(self, kind: SegmentKind, data: bytes, now_us: int) -> None:
        lost = self.link.is_cut
        if lost and kind is _RST:
            return  # not retransmitted: the peer detects the closed connection with its next write
        if lost and self._lost_us is None:
            self._lost_us = now_us
        due_us = now_us if lost else self.link.arrival_us(now_us, len(data))
        self._in_flight.append(Segment(kind, data, now_us, due_us))
        self.link.add(self)
        self._arm_give_up()

    def _arrive(self) -> None:
        segment = self._in_flight.popleft()
        kind = segment.kind
        data = segment.data if segment.parts is None else b"".join(segment.parts)
        network = self._network
        seen = b"%d" % len(data) if self.is_encrypted else data
        network.checksum = crc32(b"%d %d %d" % (self._reactor.now_us, self.number, kind), crc32(seen, network.checksum))
        if kind is _ACK:
            self._acknowledging = False
        if not self._in_flight:
            self.link.discard(self)
        self.receiver.receive(kind, data)

    def _forget(self, segments: list[Segment]) -> None:
        for segment in segments:
            if segment.call is not None:
                segment.call.cancel()
            self._in_flight.remove(segment)
        if not self._in_flight:
            self._rest()

    def _rest(self) -> None:
        self.link.discard(self)
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        self._lost_us = None
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None

    def _arm_give_up(self) -> None:
        if self._give_up is None:
            due_us = self._reactor.now_us + round(self._network.give_up_ms * 1000)
            self._give_up = self._reactor.call_at_us(due_us, self._give_up_waiting)

    def _give_up_waiting(self) -> None:
        self._give_up = None
        kinds = [segment.kind for segment in self._in_flight]
        if _ACK in kinds:
            self.receiver.give_up()
        if any(kind in _ACKNOWLEDGED for kind in kinds):
            self._in_flight.clear()
            self._rest()
            self.sender.give_up()
