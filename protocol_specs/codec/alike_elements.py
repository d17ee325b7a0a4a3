"""Array elements of equal size, each with one bytes field, decoded by one unpack. No class of Kafka does this.

The most common large request has batches of equal size for many partitions. Its elements differ in their contents
alone, so that one format of the `struct` module reads all of them and copies the bytes: a small copy is cheaper than a
view.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from protocol_specs.fields import FixedType, SizedType, String

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Field

    AlikeReader: TypeAlias = Callable[[bytes, int, int, int], tuple[int, Iterator[Any]]]

SMALL_BYTES_MAX: Final = 2048
"""Larger records are views, others are copied: a small copy costs less than a view and is faster to read."""

ELEMENTS_MAX: Final = 64
"""The elements of a longer array are decoded one by one."""

FORMATS_MAX: Final = 256
"""The number of cached formats per kind of element."""

NOT_ALIKE: Final[tuple[int, Iterator[Any]]] = (0, iter(()))


def alike_fields(plain: list[Field]) -> tuple[list[Field], Field, list[Field]] | None:
    """The fields before the bytes, the bytes, the fields after them; None for structs that hold anything else."""
    sized = [f for f in plain if not isinstance(f.type, FixedType)]
    if len(sized) != 1 or not isinstance(sized[0].type, SizedType) or sized[0].type is String:
        return None
    at = plain.index(sized[0])
    return plain[:at], sized[0], plain[at + 1 :]


def alike_reader(before: str, after: str) -> AlikeReader:
    """Make `alike(data, pos, end, count)`, which returns (position after the elements, their values in order).

    An element is fixed-size fields, bytes whose compact length takes two bytes, fixed-size fields, and no tags. It
    stops at 0 when one element differs from the first, and where the bytes, or the elements, are few or many.
    """
    offset = struct.calcsize(f">{before}")
    rest = struct.calcsize(f">{after}x")

    @lru_cache(maxsize=FORMATS_MAX)
    def unpacker(size: int, count: int) -> Callable[[bytes, int], tuple[Any, ...]]:
        return struct.Struct(">" + f"{before}xx{size}s{after}x" * count).unpack_from

    def alike(data: bytes, pos: int, end: int, count: int) -> tuple[int, Iterator[Any]]:
        at = pos + offset
        first, second = data[at], data[at + 1]
        size = first + (second << 7) - 129
        if not first >= 0x80 > second > 0 or size > SMALL_BYTES_MAX or count > ELEMENTS_MAX:
            return NOT_ALIKE
        step = offset + 2 + size + rest
        stop = pos + step * count
        if (
            stop > end
            or data[at:stop:step].count(first) != count
            or data[at + 1 : stop : step].count(second) != count
            or data[pos + step - 1 : stop : step].count(0) != count
        ):
            return NOT_ALIKE
        return stop, iter(unpacker(size, count)(data, pos))

    return alike
