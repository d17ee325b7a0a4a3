"""One TCP connection of a capture that may be Kafka's: its two byte streams, the broker's end, and its frames.

The broker's end follows from the port that the user named, from the sender of the SYN, from port 9092, or from the side
whose bytes can be read as a whole request. A connection whose first bytes are no request is ignored, with a reason.
"""

from __future__ import annotations

import enum
from collections import deque
from typing import TYPE_CHECKING, Final

from protocol_specs.inspection.byte_stream import ByteStream, Gap, Piece
from protocol_specs.inspection.conversation import Conversation, looks_like_request
from protocol_specs.inspection.frame_cutter import FrameCutter, is_request_start, request_start, response_start
from protocol_specs.inspection.tcp_segment import ACK, SYN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.inspection.tcp_segment import Endpoint, Segment
    from protocol_specs.message import Message

UNDECIDED_BYTES_MAX: Final = 256 * 1024
"""The limit on bytes per direction that are searched for a request, which identifies the client."""

HELD_BYTES_MAX: Final = 64 * 1024 * 1024
"""The limit on bytes of responses that wait for a reordered request."""

CANDIDATES_MAX: Final = 256
"""The number of latest requests whose responses are searched for after missing bytes."""

KAFKA_PORT: Final = 9092
_REQUEST_START_BYTES: Final = 14
_TLS_HANDSHAKE: Final = b"\x16\x03"


class Party(enum.Enum):
    """The sender of a frame."""

    CLIENT = "client"
    BROKER = "broker"


class Direction:
    """The bytes that one side sends."""

    __slots__ = ("cutter", "ended", "stream")

    def __init__(self) -> None:
        self.stream = ByteStream()
        self.cutter = FrameCutter(synced=False)
        self.ended = False

    @property
    def buffered_bytes(self) -> int:
        """The number of held bytes."""
        return self.stream.waiting_bytes + self.cutter.buffered_bytes


class KafkaConnection:
    """Takes segments; returns frames as (party, bytes), and gaps. `no_kafka` is the reason to ignore the connection."""

    def __init__(self, segment: Segment, port: int | None, forced: tuple[type[Message], int] | None) -> None:
        self.ends = (segment.source, segment.destination)
        self.directions = {end: Direction() for end in self.ends}
        self.conversation = Conversation(forced)
        self.client: Endpoint | None = None
        self.certain = port is not None
        self.no_kafka = ""
        self.had_payload = False
        self.number = 0
        self._undecided_next = dict.fromkeys(self.ends, 0)
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._choose_by_port(port)

    @property
    def buffered_bytes(self) -> int:
        """The number of held bytes."""
        return self._held_bytes + sum(direction.buffered_bytes for direction in self.directions.values())

    @property
    def ended(self) -> bool:
        """True if both ends have sent their FIN."""
        return all(direction.ended for direction in self.directions.values())

    @property
    def broker(self) -> Endpoint | None:
        """The broker's end, when it is known."""
        return None if self.client is None else self.other(self.client)

    def other(self, end: Endpoint) -> Endpoint:
        """The opposite end."""
        return self.ends[1] if end == self.ends[0] else self.ends[0]

    def begin(self, segment: Segment, *, from_client: bool) -> None:
        """Take a SYN: it gives the first sequence number of its sender, which is the client."""
        direction = self.directions[segment.source]
        direction.stream.begin(segment.sequence + 1)
        direction.cutter.synced = True
        if self.client is None and not self.no_kafka:
            self.client = segment.source if from_client else segment.destination

    def receive(self, segment: Segment) -> Iterator[tuple[Party, bytes | Gap]]:
        """Take a segment."""
        self.had_payload = self.had_payload or bool(segment.payload)
        if self.no_kafka:
            return
        # Acknowledged bytes were received before this segment was sent.
        if segment.flags & ACK:
            stream = self.directions[segment.destination].stream
            yield from self._pieces(segment.destination, stream.acknowledged(segment.acknowledgement))
        if segment.payload or segment.cut:
            sequence = segment.sequence + (1 if segment.flags & SYN else 0)
            stream = self.directions[segment.source].stream
            yield from self._pieces(segment.source, stream.receive(sequence % 2**32, segment.payload, segment.cut))

    def finish(self) -> Iterator[tuple[Party, bytes | Gap]]:
        """End the connection: return the bytes that wait for missing ones."""
        for end in self.ends:
            yield from self._pieces(end, self.directions[end].stream.end())
            if self.client is None and not self.no_kafka:
                self._undecided_next[end] = 0
                self._choose_by_bytes(end)
        yield from self._frames(at_end=True)

    def drop(self) -> None:
        """Drop all held bytes."""
        for direction in self.directions.values():
            for _ in direction.stream.end():
                pass
            direction.cutter.drop()
        self._held.clear()
        self._held_bytes = 0

    def _pieces(self, end: Endpoint, pieces: Iterator[Piece]) -> Iterator[tuple[Party, bytes | Gap]]:
        for piece in pieces:
            cutter = self.directions[end].cutter
            if isinstance(piece, Gap):
                dropped = cutter.drop()
                if self.client is not None:
                    yield self._party(end), Gap(size=piece.size + dropped)
                continue
            cutter.receive(piece)
            if self.client is None:
                self._choose_by_bytes(end)
            if self.client is not None and not self.certain:
                self._check_start()
            if self.no_kafka:
                self.drop()
                return
            yield from self._frames()

    def _party(self, end: Endpoint) -> Party:
        return Party.CLIENT if end == self.client else Party.BROKER

    def _choose_by_port(self, port: int | None) -> None:
        wanted = KAFKA_PORT if port is None else port
        brokers = [end for end in self.ends if end.port == wanted]
        if len(brokers) == 1:
            self.client = self.other(brokers[0])
        elif port is not None and not brokers:
            self.no_kafka = f"neither end is port {port}"

    def _choose_by_bytes(self, end: Endpoint) -> None:
        cutter = self.directions[end].cutter
        if cutter.buffered_bytes < self._undecided_next[end]:
            return
        # Searched again only after a quarter more bytes: many small segments take linear time.
        self._undecided_next[end] = min(cutter.buffered_bytes * 5 // 4 + 1, UNDECIDED_BYTES_MAX)
        data = cutter.peek(UNDECIDED_BYTES_MAX)
        start = request_start(data, 0)
        while start is not None:
            stop = start + 4 + int.from_bytes(data[start : start + 4], "big")
            if stop <= len(data) and looks_like_request(data[start:stop]):
                self.client = end
                self.certain = True
                return
            start = request_start(data, start + 1)
        if cutter.buffered_bytes >= UNDECIDED_BYTES_MAX:
            self.no_kafka = "no request in its first bytes"

    def _check_start(self) -> None:
        """Check the first bytes of a client whose SYN was seen: without a request this is no plaintext Kafka."""
        assert self.client is not None
        cutter = self.directions[self.client].cutter
        if not cutter.synced or cutter.buffered_bytes < _REQUEST_START_BYTES:
            return
        start = cutter.peek(_REQUEST_START_BYTES + UNDECIDED_BYTES_MAX)
        if is_request_start(start, 0):
            self.certain = True
        elif start.startswith(_TLS_HANDSHAKE):
            self.no_kafka = "it is TLS"
        else:
            self.no_kafka = f"it begins with {start[:8].hex(' ')}, no request"

    def _frames(self, *, at_end: bool = False) -> Iterator[tuple[Party, bytes | Gap]]:
        if self.client is None:
            return
        requests = self.directions[self.client]
        while (frame := requests.cutter.take()) is not None:
            yield Party.CLIENT, frame
        cutter = self.directions[self.other(self.client)].cutter
        if not cutter.synced:
            cutter.find = response_start(self.conversation.outstanding_ids()[-CANDIDATES_MAX:])
        wait = requests.stream.has_hole and not at_end
        while (frame := cutter.take()) is not None:
            self._held.append(frame)
            self._held_bytes += len(frame)
            yield from self._responses(wait=wait)
        yield from self._responses(wait=wait)

    def _responses(self, *, wait: bool) -> Iterator[tuple[Party, bytes | Gap]]:
        """Return responses whose request is known; others wait for bytes that may contain their request."""
        while self._held and (
            not wait or self._held_bytes > HELD_BYTES_MAX or self.conversation.is_response(self._held[0])
        ):
            frame = self._held.popleft()
            self._held_bytes -= len(frame)
            yield Party.BROKER, frame
