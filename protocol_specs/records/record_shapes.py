"""Records of one shape: varints of equal widths around keys and values of any size. For loads whose sizes vary.

The varints before a record's key are adjacent, so that one `struct` call reads them all, two-byte ones as little-endian
numbers that index tables; the rest of a record is a few comparisons. A record without headers ends with their count, 0,
so that the size of its value follows from its length.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from protocol_specs.records.record_runs import Layout

_ONE_BYTE_END: Final = 64
_TWO_BYTES_END: Final = 8192
_FORMATS: Final = {1: "B", 2: "H"}
# By width: the continuation bits of a varint, and their values.
_ENDS: Final = {1: (0x80, 0x00), 2: (0x8080, 0x0080)}
_NULL: Final = 1


@dataclass(slots=True)
class ShapedRecords:
    """The position after the records of a shape, and the least and largest timestamp delta among them."""

    position: int
    index: int
    min_timestamp_delta: int
    max_timestamp_delta: int


def follow_shape(data: bytes, layout: Layout, position: int, index: int, count: int) -> ShapedRecords | None:
    """Walk the records at `position` while they have the shape of `layout` and the right offset deltas.

    `index` is that of the first one. Returns None if the first one has another shape, or the shape is too large.
    """
    widths = (layout.length_width, layout.timestamp_width, layout.offset_width)
    if max(widths) > 2 or layout.key_width > 1 or layout.value_width > 2:
        return None
    limit = min(count, _ONE_BYTE_END if layout.offset_width == 1 else _TWO_BYTES_END)
    follow = _follow_null_keys if layout.key_is_null else _follow_keys
    end, end_index, timestamps = follow(data, _shape(*widths, layout.value_width), position, index, limit)
    if end_index == index:
        return None
    deltas = [(raw >> 1) ^ -(raw & 1) for raw in map(_unsigned, timestamps)]
    return ShapedRecords(end, end_index, min(deltas), max(deltas))


def _follow_null_keys(data: bytes, shape: _Shape, position: int, index: int, limit: int) -> tuple[int, int, list[int]]:
    unpack, sizes, offsets = shape.with_value.unpack_from, shape.sizes, _OFFSETS
    last = -1
    timestamps: list[int] = []
    try:
        while index < limit:
            length, timestamp, offset, key, value = unpack(data, position)
            size, expected_value = sizes[length]
            if value != expected_value or key != _NULL or offset != offsets[index] or data[position + size - 1]:
                break
            if timestamp != last:
                if timestamp & shape.timestamp_bits != shape.timestamp_end:
                    break
                timestamps.append(timestamp)
                last = timestamp
            position += size
            index += 1
    except (struct.error, IndexError, KeyError):
        pass
    return position, index, timestamps


def _follow_keys(data: bytes, shape: _Shape, position: int, index: int, limit: int) -> tuple[int, int, list[int]]:
    unpack, sizes, offsets, head_size = shape.without_value.unpack_from, shape.sizes, _OFFSETS, shape.head_size
    last = -1
    timestamps: list[int] = []
    try:
        while index < limit:
            length, timestamp, offset, key = unpack(data, position)
            stop = position + sizes[length][0]
            if key & 0x81 or offset != offsets[index] or data[stop - 1]:
                break
            value_at = position + head_size + (key >> 1)
            value = data[value_at]
            if value > 127:
                value_at += 1
                value += (data[value_at] << 7) - 128
            # With a third byte the value would exceed any record whose length has two bytes.
            if value & 1 or value_at + (value >> 1) + 2 != stop:
                break
            if timestamp != last:
                if timestamp & shape.timestamp_bits != shape.timestamp_end:
                    break
                timestamps.append(timestamp)
                last = timestamp
            position = stop
            index += 1
    except (struct.error, IndexError, KeyError):
        pass
    return position, index, timestamps


class _Shape:
    """The `struct` formats of the varints of a shape; there are 16 of them."""

    __slots__ = ("head_size", "sizes", "timestamp_bits", "timestamp_end", "with_value", "without_value")

    def __init__(self, length_width: int, timestamp_width: int, offset_width: int, value_width: int) -> None:
        formats = [_FORMATS[width] for width in (length_width, timestamp_width, offset_width)]
        head = "<{}x{}{}B".format(*formats)
        self.without_value = struct.Struct(head)
        self.with_value = struct.Struct(head + _FORMATS[value_width])
        self.head_size = self.without_value.size
        self.timestamp_bits, self.timestamp_end = _ENDS[timestamp_width]
        self.sizes = _Sizes(length_width, self.with_value.size + 1, value_width)


@cache
def _shape(length_width: int, timestamp_width: int, offset_width: int, value_width: int) -> _Shape:
    return _Shape(length_width, timestamp_width, offset_width, value_width)


class _Sizes(dict[int, tuple[int, int]]):
    """By a raw length: the whole record's size, and the raw length of its value if the key is null."""

    def __init__(self, length_width: int, overhead: int, value_width: int) -> None:
        super().__init__()
        self._length_width = length_width
        self._overhead = overhead
        self._value_width = value_width

    def __missing__(self, raw: int) -> tuple[int, int]:
        bits, end = _ENDS[self._length_width]
        length = _unsigned(raw)
        if raw & bits != end or length & 1:
            raise KeyError(raw)
        size = self._length_width + (length >> 1)
        value_size = size - self._overhead
        # No varint of the value's width has the raw -1: with a null key the length cannot be.
        first, last = ((0, _ONE_BYTE_END), (_ONE_BYTE_END, _TWO_BYTES_END))[self._value_width - 1]
        self[raw] = size, _raw(value_size) if first <= value_size < last else -1
        return self[raw]


def _raw(value: int) -> int:
    """The zigzag varint of a small number as the little-endian number that its bytes make."""
    zigzag = value << 1
    return zigzag if zigzag < 0x80 else zigzag & 0x7F | 0x80 | zigzag >> 7 << 8


def _unsigned(raw: int) -> int:
    return raw & 0x7F | raw >> 1 & 0x3F80


_OFFSETS: Final = [_raw(delta) for delta in range(_TWO_BYTES_END)]
