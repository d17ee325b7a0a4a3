"""Zigzag varints by the column: many read or written in a few calls of numpy. Mirrors ByteUtils.

A column of equal numbers is one `int`, which numpy broadcasts: most columns of a batch are such. Positions are clipped
to the buffer for any content: a reader that follows them must compare its end with the expected one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.varints import MAX_VARINT_BYTES, size_of_unsigned_varint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from protocol_specs.records.columnar.arrays import Bytes, Ints

    # One number for every row, or one for all of them.
    Numbers: TypeAlias = Ints | int
    RawNumbers: TypeAlias = NDArray[np.uint64] | int

WORD_BYTES: Final = 8
"""The number of bytes that must follow the last varint in the buffer of a VarintReader."""

_HIGH_BITS: Final = np.uint64(0x8080_8080_8080_8080)
_LOW_BITS: Final = np.uint64(0x0101_0101_0101_0101)
_MOVES: Final = [
    (np.uint64(0x007F_007F_007F_007F), np.uint64(0x7F00_7F00_7F00_7F00), np.uint64(1)),
    (np.uint64(0x0000_3FFF_0000_3FFF), np.uint64(0x3FFF_0000_3FFF_0000), np.uint64(2)),
    (np.uint64(0x0000_0000_0FFF_FFFF), np.uint64(0x0FFF_FFFF_0000_0000), np.uint64(4)),
]
_MASK_32: Final = 0xFFFF_FFFF


class UnusualVarint(Exception):
    """A varint longer than its width allows, or than eight bytes: the record reader handles it."""


class VarintReader:
    """Reads columns of varints from one buffer, which must continue for WORD_BYTES after the last of them."""

    __slots__ = ("_data", "_last", "_words")

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._last = len(data) - WORD_BYTES
        self._words: NDArray[np.uint64] = np.ndarray((self._last + 1,), "<u8", data, strides=(1,))

    def skip(self, positions: Ints, max_bytes: int) -> Ints:
        """Return the positions after the varints that begin there."""
        first = self._data.take(positions, mode="clip")
        if _is_ascii(first):
            return positions + 1
        return positions + self._decode(positions, first, max_bytes)[1]

    def raw(self, positions: Ints) -> tuple[Numbers, Ints]:
        """Read varints of 32 bits without undoing the zigzag; return the positions after them too."""
        first = self._data.take(positions, mode="clip")
        if _is_ascii(first):
            only = _only_byte(first)
            return (first.astype(np.int64) if only is None else only), positions + 1
        raw, widths = self._decode(positions, first, MAX_VARINT_BYTES)
        return raw & _MASK_32, positions + widths

    def varlongs(self, positions: Ints) -> tuple[Numbers, Ints]:
        """Read numbers of 64 bits that take up to eight bytes; return the positions after them too."""
        first = self._data.take(positions, mode="clip")
        if _is_ascii(first):
            only = _only_byte(first)
            raw: Numbers = first.astype(np.int64) if only is None else only
            return unzigzag(raw), positions + 1
        raw, widths = self._decode(positions, first, WORD_BYTES)
        return unzigzag(raw), positions + widths

    def varints(self, positions: Ints) -> tuple[Numbers, Ints]:
        """Read numbers of 32 bits; return the positions after them too."""
        raw, after = self.raw(positions)
        return unzigzag(raw), after

    def _decode(self, positions: Ints, first: Bytes, max_bytes: int) -> tuple[Ints, Numbers]:
        second = self._data.take(positions + 1, mode="clip")
        longer = first >> 7
        if not (longer & (second >> 7)).any():
            raw = (first & 0x7F) | (second * longer).astype(np.int64) << 7
            return raw, (2 if longer.all() else longer.astype(np.int64) + 1)
        words = self._words[np.minimum(positions, self._last)]
        ends = ~words & _HIGH_BITS
        if not ends.all():
            raise UnusualVarint
        # The lowest end and all bits below it.
        kept = ends ^ (ends - np.uint64(1))
        widths = ((kept & _LOW_BITS) * _LOW_BITS >> np.uint64(56)).astype(np.int64)
        if int(widths.max()) > max_bytes:
            raise UnusualVarint
        words &= kept & ~_HIGH_BITS
        # Two groups of bits are joined at a time, until all are.
        for low, high, shift in _MOVES:
            words = (words & low) | (words & high) >> shift
        return words.astype(np.int64), widths


def spread(numbers: Numbers, count: int) -> Ints:
    """Return a number for every row."""
    return np.full(count, numbers, np.int64) if isinstance(numbers, int) else numbers


def unzigzag(raw: Numbers) -> Numbers:
    """Undo the zigzag."""
    return (raw >> 1) ^ -(raw & 1)


def zigzag(values: Numbers, *, no_negatives: bool = False) -> RawNumbers:
    """Move the sign to the lowest bit; with `no_negatives` there is none."""
    raw = values << 1 if no_negatives else (values << 1) ^ (values >> 63)
    return raw if isinstance(raw, int) else raw.view(np.uint64)


def widths_of(raw: RawNumbers) -> Numbers:
    """Return the widths in bytes of the varints of zigzag numbers."""
    if isinstance(raw, int):
        return size_of_unsigned_varint(raw)
    least, most = size_of_unsigned_varint(int(raw.min())), size_of_unsigned_varint(int(raw.max()))
    if least == most:
        return least
    widths: Ints = (raw >= np.uint64(1 << 7 * least)) + np.int64(least)
    for width in range(least + 1, most):
        widths += raw >= np.uint64(1 << 7 * width)
    return widths


def write_varints(
    target: Bytes, positions: Ints, raw: RawNumbers, widths: Numbers, *, zero_may_follow: bool = False
) -> None:
    """Write zigzag numbers at their positions; `widths` are those of widths_of.

    With `zero_may_follow` the byte after a number may become 0: it is faster where numbers take one byte or two.
    """
    if isinstance(raw, int) or isinstance(widths, int):
        _write_alike(target, positions, raw, widths if isinstance(widths, int) else size_of_unsigned_varint(int(raw)))
    elif zero_may_follow and int(widths.max()) == 2:
        _pairs_of(target)[positions] = _PAIRS.take(raw.view(np.int64))
    else:
        for width in range(int(widths.min()), int(widths.max()) + 1):
            rows = np.flatnonzero(widths == width)
            _write_alike(target, positions[rows], raw[rows], width)


def _is_ascii(column: Bytes) -> bool:
    return column.tobytes().isascii()


def _only_byte(column: Bytes) -> int | None:
    data = column.tobytes()
    return data[0] if data and data.count(data[:1]) == len(data) else None


def _write_alike(target: Bytes, positions: Ints, raw: RawNumbers, width: int) -> None:
    if width == 2:
        _pairs_of(target)[positions] = _PAIRS[raw] if isinstance(raw, int) else _PAIRS.take(raw.view(np.int64))
        return
    for at in range(width):
        more = 0x80 if at < width - 1 else 0
        place = positions + at if at else positions
        if isinstance(raw, int):
            target[place] = raw >> 7 * at & 0x7F | more
        else:
            low = (raw >> np.uint64(7 * at) if at else raw).astype(np.uint8)
            target[place] = low | 0x80 if more else low


def _pairs_of(target: Bytes) -> NDArray[np.uint16]:
    """Every two bytes that follow each other, as one number."""
    return np.ndarray((len(target) - 1,), "<u2", target, strides=(1,))


_zigzags = np.arange(1 << 14)
# The varints of one and two bytes as numbers of two bytes.
_PAIRS: Final = (_zigzags & 0x7F | (_zigzags >= 0x80) * 0x80 | _zigzags >> 7 << 8).astype(np.uint16)
