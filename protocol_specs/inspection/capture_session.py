"""The frames of a whole capture in order, over all of its connections, with a note at each gap.

A capture may be larger than memory: packets are read one by one, and memory has the limits BUFFERED_BYTES_MAX and
CONNECTIONS_MAX over all connections, beside the limits of each connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.inspection.byte_stream import Gap
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.kafka_connection import KafkaConnection, Party
from protocol_specs.inspection.tcp_segment import ACK, FIN, LINK_TYPES, RST, SYN, Endpoint, Segment, segment_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from protocol_specs.inspection.capture_file import Packet
    from protocol_specs.inspection.conversation import SentRequest
    from protocol_specs.inspection.decoded_frame import DecodedFrame
    from protocol_specs.message import Message

BUFFERED_BYTES_MAX: Final = 512 * 1024 * 1024
"""The limit on bytes held by all connections; the connection that holds most drops its own first."""

CONNECTIONS_MAX: Final = 65_536
"""The limit on connections that are followed at once; the oldest is dropped first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedFrame:
    """A frame with its source, destination and, for a response, its request; `time_ns` is the time of its last byte."""

    number: int
    connection: int
    time_ns: int | None
    source: Endpoint
    destination: Endpoint
    frame: DecodedFrame
    request: SentRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureNote:
    """A note beside the frames: missing bytes, or an ignored connection."""

    text: str


Event: TypeAlias = CapturedFrame | CaptureNote


class CaptureSession:
    """Converts packets to frames. `port` is the broker's; `forced` is the type of responses without a request."""

    def __init__(
        self, source: str, *, port: int | None = None, forced: tuple[type[Message], int] | None = None
    ) -> None:
        self.source = source
        self.port = port
        self.forced = forced
        self._connections: dict[tuple[Endpoint, Endpoint], KafkaConnection] = {}
        self._buffered: dict[tuple[Endpoint, Endpoint], int] = {}
        self._buffered_bytes = 0
        self._frames = 0
        self._numbered = 0
        self._segments = 0
        self._unread_link_types: dict[int, int] = {}
        self._left_alone: dict[str, int] = {}

    def events(self, packets: Iterable[Packet]) -> Iterator[Event]:
        """Frames and notes in the order of the capture. Raises InputError after the frames before the fault."""
        time_ns: int | None = None
        try:
            for packet in packets:
                time_ns = packet.time_ns
                yield from self._packet(packet)
        except InputError:
            yield from self._end(time_ns)
            raise
        yield from self._end(time_ns)
        if not self._frames:
            raise InputError(self.source, "", self._why_nothing())

    def _packet(self, packet: Packet) -> Iterator[Event]:
        if packet.link_type not in LINK_TYPES:
            self._unread_link_types[packet.link_type] = self._unread_link_types.get(packet.link_type, 0) + 1
            return
        segment = segment_of(packet.link_type, packet.data)
        if segment is None:
            return
        self._segments += 1
        key = _key(segment)
        connection = self._connections.get(key)
        opening = bool(segment.flags & SYN)
        if connection is not None and opening and not segment.flags & ACK and connection.had_payload:
            yield from self._close(key, packet.time_ns)
            connection = None
        if connection is None:
            if len(self._connections) >= CONNECTIONS_MAX:
                yield from self._close(next(iter(self._connections)), packet.time_ns)
            connection = self._connections[key] = KafkaConnection(segment, self.port, self.forced)
        if opening:
            connection.begin(segment, from_client=not segment.flags & ACK)
        yield from self._events(connection, connection.receive(segment), packet.time_ns)
        if segment.flags & FIN:
            connection.directions[segment.source].ended = True
        if segment.flags & RST or (connection.ended and not segment.flags & FIN):
            yield from self._close(key, packet.time_ns)
        else:
            yield from self._bound(key, connection)

    def _events(
        self, connection: KafkaConnection, found: Iterator[tuple[Party, bytes | Gap]], time_ns: int | None
    ) -> Iterator[Event]:
        for party, piece in found:
            assert connection.client is not None
            ends = connection.client, connection.other(connection.client)
            source, destination = ends if party is Party.CLIENT else ends[::-1]
            if not connection.number:
                self._numbered += 1
                connection.number = self._numbered
            if isinstance(piece, Gap):
                text = f"{source} -> {destination}: {piece.size} bytes are missing or of a frame that is not whole"
                yield CaptureNote(text=f"connection {connection.number}, {text}")
                continue
            self._frames += 1
            request = None
            if party is Party.CLIENT:
                frame = connection.conversation.request(piece, self._frames, time_ns)
            else:
                frame, request = connection.conversation.response(piece)
            yield CapturedFrame(
                number=self._frames,
                connection=connection.number,
                time_ns=time_ns,
                source=source,
                destination=destination,
                frame=frame,
                request=request,
            )

    def _close(self, key: tuple[Endpoint, Endpoint], time_ns: int | None) -> Iterator[Event]:
        connection = self._connections.pop(key)
        self._buffered_bytes -= self._buffered.pop(key, 0)
        yield from self._events(connection, connection.finish(), time_ns)
        if not connection.had_payload:
            return
        if connection.client is None or connection.no_kafka:
            reason = connection.no_kafka or "no request in its bytes"
            self._left_alone[reason] = self._left_alone.get(reason, 0) + 1
            return
        for end, direction in connection.directions.items():
            left = direction.cutter.buffered_bytes
            if left and connection.number:
                yield CaptureNote(
                    text=f"connection {connection.number}, {end} -> {connection.other(end)}: "
                    f"it ends with {left} bytes of a frame that is not whole"
                )
        if not connection.number:
            reason = "no whole frame in its bytes"
            self._left_alone[reason] = self._left_alone.get(reason, 0) + 1

    def _bound(self, key: tuple[Endpoint, Endpoint], connection: KafkaConnection) -> Iterator[Event]:
        held = connection.buffered_bytes
        self._buffered_bytes += held - self._buffered.get(key, 0)
        self._buffered[key] = held
        if self._buffered_bytes <= BUFFERED_BYTES_MAX:
            return
        largest = max(self._buffered, key=lambda known: self._buffered[known])
        victim = self._connections[largest]
        victim.drop()
        dropped = self._buffered[largest]
        self._buffered[largest] = 0
        self._buffered_bytes -= dropped
        yield CaptureNote(
            text=f"connection {victim.number}, {victim.ends[0]} and {victim.ends[1]}: {dropped} bytes dropped, "
            f"all connections held more than BUFFERED_BYTES_MAX={BUFFERED_BYTES_MAX}"
        )

    def _end(self, time_ns: int | None) -> Iterator[Event]:
        for key in list(self._connections):
            yield from self._close(key, time_ns)
        if not self._frames:
            return
        for reason, count in self._left_alone.items():
            yield CaptureNote(text=f"{_count(count, 'other connection')} left alone: {reason}")
        for link_type, count in self._unread_link_types.items():
            yield CaptureNote(text=f"{_count(count, 'packet')} left alone: link type {link_type} is not read")

    def _why_nothing(self) -> str:
        if self._left_alone:
            causes = "; ".join(f"{_count(count, 'connection')}: {reason}" for reason, count in self._left_alone.items())
            return f"no Kafka frames in plain text: {causes} (--port names the broker's port)"
        if self._segments:
            return f"no Kafka frames: {_count(self._segments, 'TCP segment')} without a byte of payload"
        if self._unread_link_types:
            known = ", ".join(f"{name} ({number})" for number, (name, _) in LINK_TYPES.items())
            return f"link type {next(iter(self._unread_link_types))} is not read; these are: {known}"
        return "no TCP segments in this capture"


def _key(segment: Segment) -> tuple[Endpoint, Endpoint]:
    ends = segment.source, segment.destination
    return ends if ends[0] <= ends[1] else ends[::-1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
