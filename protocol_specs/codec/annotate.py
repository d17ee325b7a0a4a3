"""A slow walk over the bytes of a message that records the field and position of every step.

It finds two things that generated code cannot: the field and byte of a fault (`locate_decode_fault`), and the meaning
of each span of bytes for annotated dumps (`annotate`, and `annotate_partly` for bytes that may be broken). It accepts
and refuses the same bytes as the generated code; a test compares the two.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.runtime import INT32_MAX
from protocol_specs.errors import MessageDecodeError, MessageEndsInNumber, UnsupportedVersion
from protocol_specs.fields import Array, FieldType, FixedType, SizedType, String
from protocol_specs.utf8 import REPLACE

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, Field, Message, Struct


SPANS_MAX: Final = 100_000
"""The limit on the spans of `annotate_partly` and of an annotated record set."""

LEFT_OUT: Final = "left out"
"""The type name of the last span if there would be more than the limit: its value is the number of omitted spans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The bytes `start` to `stop` hold `value` of the field at `path`; `type_name` is Kafka's name of its type.

    `within` is empty for bytes of the buffer. Else it is the path of the span that contains these bytes (a decompressed
    section, or the key or value of a control record), and positions count from the start of that content.
    """

    path: str
    start: int
    stop: int
    type_name: str
    value: object
    within: str = ""


def annotate(cls: type[Message], version: int, data: Buffer, position: int = 0) -> list[Span]:
    """The spans of one message, in wire order. Raises MessageDecodeError where the bytes do not fit."""
    walk = _Walk(cls, version, data, position)
    walk.struct(cls, "")
    return walk.spans


def annotate_partly(
    cls: type[Message], version: int, data: Buffer, position: int = 0, *, limit: int = SPANS_MAX
) -> tuple[list[Span], MessageDecodeError | None]:
    """The spans of one message up to the fault in it, and the fault; None when there is none.

    After `limit` spans one more follows, of type LEFT_OUT. Raises UnsupportedVersion.
    """
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    walk = _Walk(cls, version, data, position, limit)
    fault = None
    try:
        walk.struct(cls, "")
    except MessageDecodeError as error:
        fault = error
    if walk.left_out:
        start = walk.spans[-1].stop if walk.spans else position
        left_out = walk.left_out
        walk.spans.append(Span(path="", start=start, stop=walk.position, type_name=LEFT_OUT, value=left_out))
    return walk.spans, fault


def annotate_value(
    cls: type[Message],
    version: int,
    data: Buffer,
    position: int,
    path: str,
    field_type: FieldType | type[Struct],
    f: Field | None = None,
) -> list[Span]:
    """The spans of one value in a version of a message; `f` declares it, None for an element of an array.

    Raises MessageDecodeError where the bytes do not fit.
    """
    walk = _Walk(cls, version, data, position)
    walk.value(f, field_type, path, flexible=walk.flexible and (f is None or f.flexible))
    return walk.spans


def locate_decode_fault(
    cls: type[Message], version: int, data: Buffer, position: int, fault: Exception
) -> MessageDecodeError:
    """The error for bytes that generated code refused with `fault`: with the path and the byte."""
    walk = _Walk(cls, version, data, position, limit=0)
    try:
        walk.struct(cls, "")
    except MessageDecodeError as error:
        return error
    return MessageDecodeError(cls.__name__, version, "", walk.position, f"{type(fault).__name__}: {fault}")


@lru_cache(maxsize=64)
def _unpacker(format_code: str) -> struct.Struct:
    return struct.Struct(">" + format_code)


@lru_cache(maxsize=4096)
def _plain_fields(cls: type[Struct], version: int) -> tuple[Field, ...]:
    return tuple(f for f in cls.FIELDS if version in f.versions and version not in f.tagged)


class _Walk:
    def __init__(self, cls: type[Message], version: int, data: Buffer, position: int, limit: int | None = None) -> None:
        self.cls = cls
        self.version = version
        self.flexible = cls.is_flexible(version)
        self.data = memoryview(data)
        self.end = len(self.data)
        self.position = position
        self.spans: list[Span] = []
        self.limit = limit
        self.left_out = 0

    def fail(self, path: str, position: int, reason: str) -> MessageDecodeError:
        return MessageDecodeError(self.cls.__name__, self.version, path, position, reason)

    def ends(self, path: str, needed: int) -> MessageDecodeError:
        """The bytes end at this position, within a number of so many bytes."""
        reason = f"{needed} bytes needed, {self.left()} bytes left"
        return MessageEndsInNumber(self.cls.__name__, self.version, path, self.position, reason)

    def left(self) -> int:
        return max(0, self.end - self.position)

    def note(self, path: str, start: int, type_name: str, value: object) -> None:
        if self.limit is not None and len(self.spans) >= self.limit:
            self.left_out += 1
            return
        self.spans.append(Span(path=path, start=start, stop=self.position, type_name=type_name, value=value))

    def struct(self, cls: type[Struct], path: str) -> None:
        prefix = f"{path}." if path else ""
        for f in _plain_fields(cls, self.version):  # type: ignore[arg-type]  # a class is hashable, see Message.struct
            self.value(f, f.type, prefix + f.name, flexible=self.flexible and f.flexible)
        if self.flexible:
            self.tags(cls, prefix)

    def value(self, f: Field | None, field_type: FieldType | type[Struct], path: str, *, flexible: bool) -> None:
        nullable = f is not None and self.version in f.nullable
        if isinstance(field_type, FixedType):
            self.fixed(field_type, path)
        elif isinstance(field_type, SizedType):
            self.sized(field_type, path, nullable=nullable, flexible=flexible)
        elif isinstance(field_type, Array):
            self.array(field_type, path, nullable=nullable, flexible=flexible)
        else:
            assert isinstance(field_type, type)
            if nullable and not self.present(path, tagged=f is not None and self.version in f.tagged):
                return
            self.struct(field_type, path)

    def present(self, path: str, *, tagged: bool) -> bool:
        """Read the presence of a struct: a byte that is not negative, or, in a tagged field, a varint above 0."""
        start = self.position
        present = self.uvarint(path) > 0 if tagged else self.unpack("b", path)[0] >= 0
        self.note(path, start, "tagged presence" if tagged else "presence", present)
        return present

    def unpack(self, format_code: str, path: str) -> tuple[Any, ...]:
        unpacker = _unpacker(format_code)
        stop = self.position + unpacker.size
        if stop > self.end:
            raise self.ends(path, unpacker.size)
        values = unpacker.unpack_from(self.data, self.position)
        self.position = stop
        return values

    def fixed(self, field_type: FixedType, path: str) -> None:
        start = self.position
        (value,) = self.unpack(field_type.format, path)
        self.note(path, start, field_type.name, value)

    def uvarint(self, path: str) -> int:
        start, value, shift = self.position, 0, 0
        while True:
            if self.position >= self.end:
                raise self.ends(path, 1)
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value if value <= 0x80000000 else value - 0x100000000
            shift += 7
            if shift > 28:
                raise self.fail(path, start, "varint is longer than 5 bytes")

    def length(self, format_code: str, path: str, *, nullable: bool, flexible: bool) -> int:
        start = self.position
        length = self.uvarint(path) - 1 if flexible else int(self.unpack(format_code, path)[0])
        if length < 0 and not nullable:
            raise self.fail(path, start, f"length {length}: this field is never null in version {self.version}")
        if length > self.left():
            raise self.fail(path, start, f"length {length}, {self.left()} bytes left")
        return length

    def sized(self, field_type: SizedType, path: str, *, nullable: bool, flexible: bool) -> None:
        start = self.position
        length = self.length(field_type.length_format, path, nullable=nullable, flexible=flexible)
        if length < 0:
            self.note(path, start, field_type.name, None)
            return
        if field_type is String and length > 32767:
            raise self.fail(path, start, f"length {length}: a string has at most 32767 bytes")
        raw = bytes(self.data[self.position : self.position + length]) if self.limit != 0 else b""
        self.position += length
        self.note(path, start, field_type.name, str(raw, "utf-8", REPLACE) if field_type is String else raw)

    def array(self, field_type: Array, path: str, *, nullable: bool, flexible: bool) -> None:
        start = self.position
        count = self.length("i", path, nullable=nullable, flexible=flexible)
        self.note(path, start, field_type.name, None if count < 0 else count)
        for index in range(max(0, count)):
            self.value(None, field_type.element, f"{path}[{index}]", flexible=self.flexible)

    def tags(self, cls: type[Struct], prefix: str) -> None:
        start = self.position
        path = f"{prefix}unknown_tags"
        count = self.uvarint(path)
        self.note(path, start, "tag count", count)
        known = {f.tag: f for f in cls.FIELDS if f.tag is not None}
        for _ in range(count if count <= INT32_MAX else 0):
            start = self.position
            tag = self.uvarint(path) & 0xFFFFFFFF
            size = self.uvarint(path)
            f = known.get(tag)
            if f is not None and self.version not in f.tagged:
                raise self.fail(path, start, f"tag {tag}, {f.name}, is not valid in version {self.version}")
            self.note(prefix + f.name if f else path, start, "tag and size", (tag, size))
            if f is not None:
                self.value(f, f.type, prefix + f.name, flexible=True)
                continue
            if size < 0 or size > self.left():
                raise self.fail(path, start, f"tag {tag}: length {size}, {self.left()} bytes left")
            self.position += size
            self.note(path, self.position - size, "tag data", bytes(self.data[self.position - size : self.position]))
