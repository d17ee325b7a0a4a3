"""Runs of records with one layout, checked column by column. The same checks as the loops of LogValidator, by slicing.

Producers mostly send records of equal lengths. Then a byte of the layout (a length, a header count) is at the same
distance in every record: one strided slice collects it for all records, and comparing two byte strings replaces a loop.
Records with headers are excluded; without headers the last byte of a record is their count, 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from protocol_specs.records.varints import SMALL_VARINTS, SMALL_VARINTS_END

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ONE_BYTE_DELTAS: Final = 64
_PERIOD: Final = 8192
_THREE_BYTE_DELTAS: Final = 1 << 20
# A tenth byte of a varlong may hold bits that are dropped.
_NINE_BYTES: Final = 9

# Columns of the offset deltas 0, 1, 2 ... as zigzag varints: 64 low bytes repeat, the second byte goes up every 64
# records and repeats after 8192, the third goes up every 8192.
_LOW_ONLY: Final = bytes(2 * delta for delta in range(_ONE_BYTE_DELTAS))
_LOW: Final = bytes(2 * delta & 0x7F | 0x80 for delta in range(64)) * (_PERIOD // 64)
_MIDDLE_LAST: Final = b"".join(bytes((2 * delta >> 7,)) * 64 for delta in range(0, _PERIOD, 64))
_MIDDLE: Final = bytes(byte | 0x80 for byte in _MIDDLE_LAST)

_CONTINUE_FLIPPED: Final = bytes(byte ^ 0x80 for byte in range(256))
_FEW_BYTES: Final = 8
_EVEN: Final = bytes(range(0, 256, 2))
_ZIGZAG: Final = [(raw >> 1) ^ -(raw & 1) for raw in range(0x80)]
# One-byte zigzags in the order of the numbers they stand for: -64 is 0, 63 is 127.
_ORDERED: Final = bytes(((raw >> 1) ^ -(raw & 1)) + 64 & 0xFF for raw in range(0x80)) + bytes(0x80)


@dataclass(slots=True)
class RecordRun:
    """Records that follow a measured one with its layout and the right offset deltas."""

    records_count: int
    min_timestamp_delta: int
    max_timestamp_delta: int


class Layout:
    """The positions and widths of the varints of a valid record without headers."""

    __slots__ = (
        "constant_columns",
        "key_is_null",
        "key_width",
        "length_width",
        "offset",
        "offset_width",
        "start",
        "timestamp",
        "timestamp_width",
        "value_width",
    )

    def __init__(self, data: bytes, start: int) -> None:
        self.start = start
        after_length = _after(data, start)
        self.length_width = after_length - start
        self.timestamp = after_length + 1
        self.offset = _after(data, self.timestamp)
        self.timestamp_width = self.offset - self.timestamp
        key = _after(data, self.offset)
        self.offset_width = key - self.offset
        value = after_key = _after(data, key)
        self.key_width = after_key - key
        key_size = _unsigned(data, key)
        self.key_is_null = bool(key_size & 1)
        if not self.key_is_null:
            value += key_size >> 1
        after_value = _after(data, value)
        self.value_width = after_value - value
        self.constant_columns = (*range(start, after_length), *range(value, after_value), *range(key, after_key))


ALIKE_MIN: Final = 3
ALIKE_MAX: Final = _ONE_BYTE_DELTAS
"""Sections of fewer records than the first are walked faster by the loop; of more than the second the offset deltas
take two bytes."""
LAYOUTS_MAX: Final = 2048
"""Most layouts of small sections that are kept."""
_SMALLEST_BYTES: Final = 7
"""A record has six numbers of at least a byte, and its attributes."""
_ONE_BYTE_LENGTH_MAX_BYTES: Final = 64
"""The size of the largest record whose length takes one byte."""


def alike_deltas(data: bytes, count: int, start: int, end: int) -> tuple[int, int, bool] | None:
    """Check a section whose records all have one size and layout, right offset deltas and no headers.

    Return its least and largest timestamp delta, and True for null keys; None if a record differs, has no value, or has
    a timestamp delta, a key length or an offset delta of more than one byte, or another length of more than two.
    """
    size, rest = divmod(end - start, count)
    if rest or size < _SMALLEST_BYTES or data[start] != data[start + size]:
        return None
    key = data[start + (4 if size <= _ONE_BYTE_LENGTH_MAX_BYTES else 5)]
    layout = _alike_layout(size, count, start, key)
    if layout is None:
        return None
    columns, expected, timestamps = layout
    if columns(data) != expected:
        return None
    deltas = data[timestamps]
    if not deltas.isascii():
        return None
    ordered = set(deltas.translate(_ORDERED))
    return min(ordered) - 64, max(ordered) - 64, bool(key & 1)


@lru_cache(maxsize=LAYOUTS_MAX)
def _alike_layout(
    size: int, count: int, start: int, key: int
) -> tuple[Callable[[bytes], tuple[bytes, ...]], tuple[bytes, ...], slice] | None:
    """Return a function that reads all columns but those of timestamps and strings, their bytes, and the timestamps.

    The lengths of record and value follow from `size` and `key`, the byte with the key's length. None for others.
    """
    length = _length_within(size)
    value = len(length or b"") + 4 + (0 if key & 1 else key >> 1)
    value_length = _length_within(size - 1 - value)
    if length is None or value_length is None or key > 127:
        return None
    constants = {**dict(enumerate(length)), len(length) + 3: key, **dict(enumerate(value_length, value)), size - 1: 0}
    expected = {place: bytes((byte,)) * count for place, byte in constants.items()}
    expected[len(length) + 2] = _LOW_ONLY[:count]
    end = start + size * count
    columns = itemgetter(*(slice(start + place, end, size) for place in expected))
    return columns, tuple(expected.values()), slice(start + len(length) + 1, end, size)


def _length_within(total: int) -> bytes | None:
    """Return the length that takes `total` bytes together with what it counts; None if it needs more than two bytes."""
    for width in (1, 2):
        if width <= total < SMALL_VARINTS_END and len(SMALL_VARINTS[total - width]) == width:
            return SMALL_VARINTS[total - width]
    return None


def measure_run(data: bytes, layout: Layout, size: int, index: int, count: int) -> RecordRun | None:
    """Measure the run after the record of `layout`, which is valid, has no headers and takes `size` bytes.

    `index` is that of the next record, `count` that of all. Returns None if the next record differs.
    """
    limit = count_run(data, layout, size, index, count, len(data))
    return _measure_timestamps(data, layout, size, limit) if limit else None


def count_run(data: bytes, layout: Layout, size: int, index: int, count: int, end: int) -> int:
    """Count the records before `end` after the one of `layout` that equal it apart from timestamps; see measure_run."""
    start = layout.start
    limit = min(count - index, (end - start) // size - 1)
    width = layout.offset_width
    if index < _ONE_BYTE_DELTAS:
        limit = min(limit, _ONE_BYTE_DELTAS - index) if width == 1 else 0
    elif index < _PERIOD:
        limit = min(limit, _PERIOD - index) if width == 2 else 0
    else:
        limit = min(limit, _PERIOD - index % _PERIOD) if width == 3 and index < _THREE_BYTE_DELTAS else 0
    last_byte = start + size - 1
    for column in (*layout.constant_columns, last_byte):
        if limit <= 0:
            return 0
        wanted = data[column : column + 1] * limit
        limit = _same(data[column + size : column + limit * size + 1 : size], wanted)
    return max(_same_offsets(data, layout.offset + size, size, index, limit, width), 0)


def _after(data: bytes, position: int) -> int:
    while data[position] > 127:
        position += 1
    return position + 1


def _unsigned(data: bytes, position: int) -> int:
    value = shift = 0
    while (byte := data[position]) > 127:
        value |= (byte & 0x7F) << shift
        shift += 7
        position += 1
    return (value | byte << shift) & 0xFFFF_FFFF


def _same(column: bytes, wanted: bytes) -> int:
    """The length of the common prefix of two strings of equal length."""
    if column == wanted:
        return len(column)
    low, high = 0, len(column) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if column[:middle] == wanted[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_offsets(data: bytes, first: int, size: int, index: int, limit: int, width: int) -> int:
    phase = index % _PERIOD
    if width == 1:
        columns = [_LOW_ONLY[index : index + limit]]
    elif width == 2:
        columns = [_LOW[index : index + limit], _MIDDLE_LAST[index : index + limit]]
    else:
        high = bytes((2 * index >> 14,)) * limit
        columns = [_LOW[phase : phase + limit], _MIDDLE[phase : phase + limit], high]
    for distance, wanted in enumerate(columns):
        if limit <= 0:
            break
        position = first + distance
        limit = _same(data[position : position + (limit - 1) * size + 1 : size], wanted[:limit])
    return limit


def _measure_timestamps(data: bytes, layout: Layout, size: int, limit: int) -> RecordRun | None:
    width = layout.timestamp_width
    if width > _NINE_BYTES:
        return None
    columns = timestamp_columns(data, layout.timestamp + size, size, limit, width)
    limit = len(columns[0])
    if not limit:
        return None
    if width == 1:
        ordered = columns[0].translate(_ORDERED)
        least, most = _extremes(ordered)
        return RecordRun(limit, least - 64, most - 64)
    if width == 2 and not columns[0].translate(None, _EVEN):
        low, high = columns
        least, most = _extremes(high)
        return RecordRun(
            limit,
            (least << 7 | _extremes(_where(low, high, least))[0]) >> 1,
            (most << 7 | _extremes(_where(low, high, most))[1]) >> 1,
        )
    deltas = zigzag_deltas(columns)
    return RecordRun(limit, min(deltas), max(deltas))


def timestamp_columns(data: bytes, first: int, size: int, limit: int, width: int) -> list[bytes]:
    """Return the bytes of `limit` varints of `width` bytes without their continuation bits, one column per place.

    The first varint is at `first`, the others every `size` bytes. The columns end before a varint of another width.
    """
    columns: list[bytes] = []
    for position in range(first, first + width):
        column = data[position : position + (limit - 1) * size + 1 : size] if limit else b""
        in_order = column if position == first + width - 1 else column.translate(_CONTINUE_FLIPPED)
        if not in_order.isascii():
            limit = next(at for at, byte in enumerate(in_order) if byte > 127)
        columns.append(in_order)
    return [column[:limit] for column in columns]


def zigzag_deltas(columns: Sequence[bytes]) -> list[int]:
    """Return the numbers whose varints consist of these columns; see timestamp_columns."""
    if len(columns) == 1:
        return [_ZIGZAG[raw] for raw in columns[0]]
    raws: Sequence[int] = columns[0]
    for place, column in enumerate(columns[1:], 1):
        shift = 7 * place
        raws = [raw | byte << shift for raw, byte in zip(raws, column, strict=True)]
    return [(raw >> 1) ^ -(raw & 1) for raw in raws]


def _extremes(column: bytes) -> tuple[int, int]:
    """The smallest and the largest byte. A batch has few timestamps: every copy of a found byte is removed at once."""
    met, rest = b"", column
    for _ in range(_FEW_BYTES):
        if not rest:
            break
        met += rest[:1]
        rest = rest.translate(None, rest[:1])
    different = {*met, *rest}
    return min(different), max(different)


def _where(column: bytes, other: bytes, byte: int) -> bytes:
    """The bytes of `column` where `other` is `byte`; they are mostly adjacent, because timestamps mostly ascend."""
    first, last = other.index(byte), other.rindex(byte) + 1
    if other.count(byte) == last - first:
        return column[first:last]
    return bytes(mine for mine, its in zip(column, other, strict=True) if its == byte)
