"""Reassembles one direction of a TCP connection: segments in any order become bytes and gaps. Mirrors RFC 9293.

Bytes are returned as soon as all bytes before them are known. A hole may still be filled, because captures have
reordered and retransmitted segments. It becomes a gap when the peer has acknowledged it (the capture lost it), when
more than REORDERED_BYTES_MAX wait after it, or when the stream ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

REORDERED_BYTES_MAX: Final = 4 * 1024 * 1024
"""The limit on bytes that wait after a hole."""

REORDERED_SEGMENTS_MAX: Final = 4096
"""The limit on segments that wait after a hole."""

WINDOW_BYTES_MAX: Final = 2**30
"""The largest window of TCP: a segment beyond it belongs to another connection."""

_SEQUENCE_NUMBERS: Final = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A number of bytes that the capture misses."""

    size: int


Piece: TypeAlias = bytes | Gap


class ByteStream:
    """Takes the segments of one direction and returns bytes and gaps in order."""

    __slots__ = ("_heap", "_next", "_sequence", "_waiting", "_waiting_bytes")

    def __init__(self) -> None:
        self._sequence: int | None = None
        # Positions of the next byte and of waiting segments, without the wrap of sequence numbers.
        self._next = 0
        self._waiting: dict[int, tuple[bytes, int]] = {}
        self._heap: list[int] = []
        self._waiting_bytes = 0

    @property
    def has_hole(self) -> bool:
        """True if segments wait for earlier ones."""
        return bool(self._heap)

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes that wait after a hole."""
        return self._waiting_bytes

    def begin(self, sequence: int) -> None:
        """The stream's first byte has this sequence number (the SYN's, plus 1)."""
        self._sequence = sequence % _SEQUENCE_NUMBERS
        self._waiting.clear()
        self._heap.clear()
        self._waiting_bytes = 0

    def receive(self, sequence: int, payload: bytes, cut: int) -> Iterator[Piece]:
        """Take a segment, whose last `cut` bytes the capture omitted; without a known begin it is the first."""
        if self._sequence is None:
            self._sequence = sequence
        ahead = self._ahead(sequence)
        if not -WINDOW_BYTES_MAX <= ahead <= WINDOW_BYTES_MAX:
            return
        if ahead > 0:
            self._wait(self._next + ahead, payload, cut)
            while self._waiting_bytes > REORDERED_BYTES_MAX or len(self._heap) > REORDERED_SEGMENTS_MAX:
                yield from self._skip_hole()
            return
        yield from self._deliver(-ahead, payload, cut)
        yield from self._deliver_waiting()

    def acknowledged(self, sequence: int) -> Iterator[Piece]:
        """Note that the peer has all bytes before `sequence`: a hole before it will not be filled any more."""
        while self._heap and 0 < (ahead := self._ahead(sequence)) <= WINDOW_BYTES_MAX:
            if self._heap[0] > self._next + ahead:
                break
            yield from self._skip_hole()

    def end(self) -> Iterator[Piece]:
        """End the stream: return the waiting bytes, with gaps."""
        while self._heap:
            yield from self._skip_hole()

    def _ahead(self, sequence: int) -> int:
        """The distance of a sequence number from the next expected one; negative before it."""
        assert self._sequence is not None
        distance = (sequence - self._sequence) % _SEQUENCE_NUMBERS
        return distance if distance < _SEQUENCE_NUMBERS // 2 else distance - _SEQUENCE_NUMBERS

    def _wait(self, place: int, payload: bytes, cut: int) -> None:
        known = self._waiting.get(place)
        if known is None:
            heappush(self._heap, place)
        elif len(known[0]) >= len(payload):
            return
        self._waiting_bytes += len(payload) - (len(known[0]) if known else 0)
        self._waiting[place] = payload, cut

    def _deliver(self, skip: int, payload: bytes, cut: int) -> Iterator[Piece]:
        """Return the new bytes of a segment: its first `skip` bytes are known already."""
        fresh = payload[skip:]
        if fresh:
            self._advance(len(fresh))
            yield fresh
        missing = cut - max(0, skip - len(payload))
        if cut and missing > 0:
            self._advance(missing)
            yield Gap(size=missing)

    def _advance(self, count: int) -> None:
        assert self._sequence is not None
        self._next += count
        self._sequence = (self._sequence + count) % _SEQUENCE_NUMBERS

    def _deliver_waiting(self) -> Iterator[Piece]:
        while self._heap and self._heap[0] <= self._next:
            place = heappop(self._heap)
            payload, cut = self._waiting.pop(place)
            self._waiting_bytes -= len(payload)
            yield from self._deliver(self._next - place, payload, cut)

    def _skip_hole(self) -> Iterator[Piece]:
        size = self._heap[0] - self._next
        if size > 0:
            self._advance(size)
            yield Gap(size=size)
        yield from self._deliver_waiting()
