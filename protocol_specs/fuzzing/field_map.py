"""Where each field of valid bytes is: parts with a path and a position, which follow the bytes through every change.

A part that states something about the bytes after it (a length, a count, a checksum, the size of a frame) has a
`Promise`. A change computes it anew only at the levels that the caller selects; everything else keeps its bytes.
"""

from __future__ import annotations

import copy
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from protocol_specs.errors import ProtocolError
from protocol_specs.records.compression import CompressionCodec, compress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from protocol_specs.message import Field, Message


class MutationError(ProtocolError):
    """A change that is impossible at a path; `reason` is the cause."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reframe:
    """Which levels of framing are computed anew around a change; a level that is False keeps its earlier value.

    `lengths` are those before strings, bytes and record sets; `counts` those of arrays, tag sections, record headers
    and the records of a batch; `batch_lengths` include the sizes of messages of magic 0 and 1.
    """

    lengths: bool = True
    counts: bool = True
    tag_sizes: bool = True
    record_lengths: bool = True
    batch_lengths: bool = True
    checksums: bool = True
    frame_size: bool = True

    @classmethod
    def nothing(cls) -> Reframe:
        """Every length, count and checksum keeps its earlier value."""
        return cls(**dict.fromkeys(cls.__slots__, False))


@dataclass(frozen=True, slots=True)
class Scope:
    """The version of a message that a part belongs to; `prefix` is what its paths begin with in the map."""

    cls: type[Message]
    version: int
    prefix: str = ""

    @property
    def flexible(self) -> bool:
        """True if the version has compact lengths and tagged fields."""
        return self.cls.is_flexible(self.version)


@dataclass(slots=True)
class Promise:
    """A number that describes the bytes after it. `counted` is the part whose elements it counts, None for a size.

    `measure` returns the number for the bytes up to the end of the part's parent. A pinned one was set by hand and is
    never computed.
    """

    level: str
    write: Callable[[int], bytes]
    measure: Callable[[bytes], int] = len
    counted: Part | None = None
    pinned: bool = False


@dataclass(slots=True)
class Part:
    """A field, an element or a stretch of bytes: `start` to `stop` of the data of its map.

    `declared` is what a value of it is encoded by (see `field_values`), in the version of `scope`. `counts` is True for
    what the count of its parent counts; an `is_element` has an index. `holds` are the names before the index of inner
    elements where they differ from the name of the part.
    """

    path: str
    start: int
    stop: int
    type_name: str
    parent: Part | None = None
    declared: Any = None
    field: Field | None = None
    scope: Scope | None = None
    promise: Promise | None = None
    counts: bool = False
    is_element: bool = False
    is_sized: bool = False
    """True if it is a length and the content after it."""
    is_null: bool = False
    holds: tuple[str, ...] = ()
    unread: str = ""
    """Why the bytes of the part, or the last of them, have no parts."""
    expand: Callable[[FieldMap, Part], None] | None = None
    """Adds the parts of a record set when a path first leads into it: most record sets are never divided."""
    codec: CompressionCodec = CompressionCodec.NONE
    inside: FieldMap | None = None
    """The parts of compressed bytes, which count positions from the start of the decompressed ones."""

    def around(self) -> Iterator[Part]:
        """The parts that contain it, the innermost first."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent


class FieldMap:
    """Bytes and their parts in wire order, each before the parts inside it; the first part is the whole."""

    __slots__ = ("data", "parts")

    def __init__(self, data: bytes, parts: list[Part]) -> None:
        self.data = data
        self.parts = parts

    @property
    def root(self) -> Part:
        """The part that is all of the bytes."""
        return self.parts[0]

    def bytes_of(self, part: Part) -> bytes:
        """The bytes of one part."""
        return self.data[part.start : part.stop]

    def children(self, part: Part) -> list[Part]:
        """The parts directly inside a part."""
        return [inner for inner in self.subtree(part) if inner.parent is part]

    def subtree(self, part: Part) -> list[Part]:
        """All parts inside a part."""
        first, end = self._range(part)
        return self.parts[first + 1 : end]

    def expanded(self, part: Part) -> Part:
        """The part, with the parts inside it where they are added on demand."""
        if part.expand is not None:
            expand, part.expand = part.expand, None
            expand(self, part)
        return part

    def copy(self) -> FieldMap:
        """An independent map of the same bytes."""
        return FieldMap(self.data, _copied(self.parts, 0, None))

    def replace(self, part: Part, data: bytes, parts: Iterable[Part] = ()) -> None:
        """Replace the bytes of a part, and the parts inside it."""
        first, end = self._range(part)
        self._splice(first + 1, end, part, part.start, part.stop, data, parts)

    def append(self, part: Part, data: bytes) -> None:
        """Put bytes without parts at the end of a part."""
        _, end = self._range(part)
        self._splice(end, end, part, part.stop, part.stop, data, ())

    def insert_after(self, part: Part, parent: Part, position: int, data: bytes, parts: list[Part]) -> None:
        """Put bytes with their parts into a parent, after another part in it."""
        _, end = self._range(part)
        self._splice(end, end, parent, position, position, data, parts)

    def remove(self, part: Part) -> None:
        """Remove a part, its bytes and the parts inside it."""
        assert part.parent is not None
        first, end = self._range(part)
        self._splice(first, end, part.parent, part.start, part.stop, b"", ())

    def truncate(self, part: Part, position: int) -> None:
        """Remove the bytes of a part from a position on; parts that begin there or later are removed."""
        first, end = self._range(part)
        removed = part.stop - position
        kept = [inner for inner in self.parts[first + 1 : end] if inner.start < position or inner.stop <= position]
        self.data = self.data[:position] + self.data[part.stop :]
        for inner in kept:
            if inner.stop > position:
                inner.stop, inner.inside = position, None
                if inner.promise is not None:
                    inner.promise.pinned = True
        for after in self.parts[end:]:
            after.start -= removed
            after.stop -= removed
        for outer in (part, *part.around()):
            outer.stop -= removed
        self.parts[first + 1 : end] = kept

    def duplicate(self, part: Part, times: int) -> Part:
        """Repeat a part after itself; the last copy is returned."""
        assert part.parent is not None
        first, end = self._range(part)
        size = part.stop - part.start
        copies: list[Part] = []
        for index in range(1, times + 1):
            copies += _copied(self.parts[first:end], index * size, part.parent)
        self._splice(end, end, part.parent, part.stop, part.stop, self.bytes_of(part) * times, copies)
        return copies[first - end]

    def settle(self, part: Part, levels: Reframe, *, own: bool = False) -> None:
        """Compute the sizes and checksums before a changed part anew, in all parts around it; `own` also in itself."""
        for group in (part, *part.around()) if own else part.around():
            for inner in reversed(self.children(group)):
                promise = inner.promise
                if promise is None or promise.counted is not None or (group is not part and inner.stop > part.start):
                    continue
                following = self.data[inner.stop : group.stop]
                self._write(inner, -1 if group.is_null and not following else promise.measure(following), levels)

    def recount(self, holder: Part, levels: Reframe) -> None:
        """Compute the count of the elements of a part anew, and number the elements."""
        for part in self.parts:
            if part.promise is not None and part.promise.counted is holder:
                inner = self.children(holder) if holder.inside is None else holder.inside.children(holder.inside.root)
                self._write(part, sum(child.counts for child in inner), levels)
                break
        self.renumber(holder)

    def renumber(self, holder: Part) -> None:
        """Give each element of a part the index of its place."""
        index, length, path = -1, 0, ""
        # One pass: the parts inside an element follow it.
        for part in self.subtree(holder):
            if part.parent is holder:
                length, path = 0, ""
                if part.is_element:
                    index, length = index + 1, len(part.path)
                    path = f"{part.path[: part.path.rindex('[')]}[{index}]"
            if length:
                part.path = path + part.path[length:]

    def _write(self, part: Part, number: int, levels: Reframe) -> None:
        promise = part.promise
        assert promise is not None
        if promise.pinned or not getattr(levels, promise.level):
            return
        try:
            data = promise.write(number)
        except (ArithmeticError, ValueError, struct.error) as error:
            raise MutationError(part.path, f"{number} does not fit {part.type_name}: {error}") from None
        self.replace(part, data)

    def _range(self, part: Part) -> tuple[int, int]:
        """The index of a part, and the index after the parts inside it."""
        first = next(index for index, candidate in enumerate(self.parts) if candidate is part)
        end = first + 1
        while end < len(self.parts) and _is_inside(self.parts[end], part):
            end += 1
        return first, end

    def _splice(
        self, first: int, end: int, parent: Part, start: int, stop: int, data: bytes, parts: Iterable[Part]
    ) -> None:
        growth = len(data) - (stop - start)
        self.data = self.data[:start] + data + self.data[stop:]
        if growth:
            for after in self.parts[end:]:
                after.start += growth
                after.stop += growth
            for outer in (parent, *parent.around()):
                outer.stop += growth
        self.parts[first:end] = parts


def sealed(part: Part) -> bytes:
    """The bytes of a compressed section whose parts changed."""
    assert part.inside is not None
    return compress(part.codec, part.inside.data)


def _is_inside(part: Part, outer: Part) -> bool:
    return any(each is outer for each in part.around())


def _copied(parts: list[Part], offset: int, parent: Part | None) -> list[Part]:
    """Copies of a part and what is inside it, at positions `offset` later."""
    made: dict[int, Part] = {}
    for part in parts:
        twin = Part(
            part.path,
            part.start + offset,
            part.stop + offset,
            part.type_name,
            made.get(id(part.parent), parent),
            part.declared,
            part.field,
            part.scope,
            None if part.promise is None else copy.copy(part.promise),
            part.counts,
            part.is_element,
            part.is_sized,
            part.is_null,
            part.holds,
            part.unread,
            part.expand,
            part.codec,
            None if part.inside is None else part.inside.copy(),
        )
        made[id(part)] = twin
    for twin in made.values():
        if twin.promise is not None and twin.promise.counted is not None:
            twin.promise.counted = made.get(id(twin.promise.counted), twin.promise.counted)
    return list(made.values())
