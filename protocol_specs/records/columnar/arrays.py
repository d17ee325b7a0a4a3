"""The basis of columnar records: numpy, and copies of many byte strings at once. No class of Kafka does this.

The only place that imports numpy for them; without it the import fails by name of the extra. A copy moves pieces of one
size for all strings in one call, the last piece of a string ending where the string does, so that nothing is written
outside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.errors import ProtocolError

__all__ = ["LONG_BYTES", "ColumnarUnavailable", "copy_strings", "gather_equal", "gather_strings", "np"]


class ColumnarUnavailable(ProtocolError, ImportError):
    """A package that columnar records need is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package

    def __str__(self) -> str:
        return f"columnar records need the package {self.package}: pip install 'broker-sim[arrow]'"


try:
    import numpy as np
except ImportError:
    raise ColumnarUnavailable("numpy") from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes: TypeAlias = NDArray[np.uint8]
    Ints: TypeAlias = NDArray[np.int64]

# A string is copied in pieces of the largest size that fits into it.
_PIECES: Final = (1, 4, 16, 64, 512)
LONG_BYTES: Final = 8192
"""The size from which on strings are copied one by one."""


def copy_strings(target: Bytes, target_starts: Ints, source: Bytes, source_starts: Ints, sizes: Ints) -> None:
    """Copy `sizes[i]` bytes from `source_starts[i]` to `target_starts[i]`, for every i; all must lie inside."""
    if not len(sizes):
        return
    least, most = int(sizes.min()), int(sizes.max())
    if least == most and 0 < most < LONG_BYTES:
        _pieces_of(target, most)[target_starts] = _pieces_of(source, most)[source_starts]
        return
    for piece, next_piece in zip(_PIECES, (*_PIECES[1:], LONG_BYTES), strict=True):
        if most < piece or least >= next_piece:
            continue
        if piece <= least and most < next_piece:
            _copy_pieces(target, target_starts, source, source_starts, sizes, piece)
            return
        rows = np.flatnonzero((sizes >= piece) & (sizes < next_piece))
        if len(rows):
            _copy_pieces(target, target_starts[rows], source, source_starts[rows], sizes[rows], piece)
    if most >= LONG_BYTES:
        for row in np.flatnonzero(sizes >= LONG_BYTES).tolist():
            to, start, size = int(target_starts[row]), int(source_starts[row]), int(sizes[row])
            target[to : to + size] = source[start : start + size]


def gather_strings(source: Bytes, starts: Ints, sizes: Ints) -> tuple[Ints, Bytes]:
    """Return strings one after another: where each begins, with the end of the last, and their bytes."""
    if len(sizes):
        least, most = int(sizes.min()), int(sizes.max())
        if least == most and 0 < most < LONG_BYTES:
            return np.arange(0, (len(sizes) + 1) * most, most, dtype=np.int64), gather_equal(source, starts, most)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    target = np.empty(int(offsets[-1]), np.uint8)
    copy_strings(target, offsets[:-1], source, starts, sizes)
    return offsets, target


def gather_equal(source: Bytes, starts: Ints, size: int) -> Bytes:
    """Return the bytes of strings of one size, which is from 1 to LONG_BYTES, one string after another."""
    return _pieces_of(source, size)[starts].view(np.uint8)


def _copy_pieces(
    target: Bytes, target_starts: Ints, source: Bytes, source_starts: Ints, sizes: Ints, piece: int
) -> None:
    """Copy strings of at least one piece."""
    to, origin = _pieces_of(target, piece), _pieces_of(source, piece)
    least, most = int(sizes.min()), int(sizes.max())
    for done in range(0, most - piece + 1, piece):
        if least >= done + piece:
            to[target_starts + done] = origin[source_starts + done]
        else:
            rows = np.flatnonzero(sizes >= done + piece)
            to[target_starts[rows] + done] = origin[source_starts[rows] + done]
    if piece > 1:
        last = sizes - piece
        to[target_starts + last] = origin[source_starts + last]


def _pieces_of(data: Bytes, piece: int) -> NDArray[np.void]:
    """Every piece of `data` of that size, each beginning a byte after the one before."""
    return np.ndarray((len(data) - piece + 1,), f"V{piece}", data, strides=(1,))
