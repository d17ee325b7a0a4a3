"""One direction of a TCP connection put in order: segments in any order -> its bytes, and gaps. Mirrors RFC 9293.

Bytes come out as soon as all before them are there. A hole is waited for, because captures have segments out of order
and sent again; it becomes a gap when the other side has acknowledged it (the capture lost it), when more than
REORDERED_BYTES_MAX wait behind it, or when the stream ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

REORDERED_BYTES_MAX: Final = 4 * 1024 * 1024
"""How many bytes may wait behind a hole."""

REORDERED_SEGMENTS_MAX: Final = 4096
"""How many segments may wait behind a hole."""

WINDOW_BYTES_MAX: Final = 2**30
"""How far from its place a segment may be: the largest window of TCP. What is farther belongs to another connection."""

_SEQUENCE_NUMBERS: Final = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """So many bytes are missing from the capture."""

    size: int


Piece: TypeAlias = bytes | Gap


class ByteStream:
    """Takes the segments of one direction; answers bytes and gaps in order."""

    __slots__ = ("_heap", "_next", "_sequence", "_waiting", "_waiting_bytes")

    def __init__(self) -> None:
        self._sequence: int | None = None
        # Where the next byte is, and where those that wait are: counted on without the wrap of sequence numbers.
        self._next = 0
        self._waiting: dict[int, tuple[bytes, int]] = {}
        self._heap: list[int] = []
        self._waiting_bytes = 0

    @property
    def has_hole(self) -> bool:
        """Whether segments wait for others before them."""
        return bool(self._heap)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait behind a hole."""
        return self._waiting_bytes

    def begin(self, sequence: int) -> None:
        """The stream's first byte has this sequence number (the SYN's, plus 1)."""
        self._sequence = sequence % _SEQUENCE_NUMBERS
        self._waiting.clear()
        self._heap.clear()
        self._waiting_bytes = 0

    def receive(self, sequence: int, payload: bytes, cut: int) -> Iterator[Piece]:
        """Take a segment, of which the capture left out the last `cut` bytes; without a begin it is the first."""
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
        """The other side has everything before `sequence`: a hole before it will not be filled any more."""
        while self._heap and 0 < (ahead := self._ahead(sequence)) <= WINDOW_BYTES_MAX:
            if self._heap[0] > self._next + ahead:
                break
            yield from self._skip_hole()

    def end(self) -> Iterator[Piece]:
        """Nothing more comes: what waits comes out, with gaps."""
        while self._heap:
            yield from self._skip_hole()

    def _ahead(self, sequence: int) -> int:
        """How far a sequence number is from the next one expected; negative before it."""
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
        """Hand out what a segment has that is new: its first `skip` bytes came before."""
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
