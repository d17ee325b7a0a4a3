"""Message and version -> construct.Struct: the readable reference of the wire format.

It shares nothing with the generated code but the declarations. Parsing returns construct's Containers, with None for
null and bytes for uuids; building takes the same. `to_reference` converts a message to that form.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import construct

from protocol_specs.codec.runtime import INT32_MAX
from protocol_specs.fields import Array, FieldType, FixedType, Records, SizedType, String
from protocol_specs.message import Field, Message, Struct
from protocol_specs.utf8 import REPLACE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_FIXED: Final[Mapping[str, Any]] = {
    "int8": construct.Int8sb,
    "int16": construct.Int16sb,
    "uint16": construct.Int16ub,
    "int32": construct.Int32sb,
    "uint32": construct.Int32ub,
    "int64": construct.Int64sb,
    "float64": construct.Float64b,
    "uuid": construct.Bytes(16),
}


class _Bool(construct.Construct):  # type: ignore[misc]
    """One byte; any value but 0 is true, as java.nio reads it."""

    def _parse(self, stream: Any, context: Any, path: str) -> bool:
        return bool(construct.Byte._parsereport(stream, context, path))  # noqa: SLF001 - how construct nests

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        construct.Byte._build(1 if obj else 0, stream, context, path)  # noqa: SLF001
        return obj


class _Uvarint(construct.Construct):  # type: ignore[misc]
    """A varint of at most 5 bytes, 7 bits a byte, the low ones first; kept in an int32, as in Kafka."""

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = int(construct.Byte._parsereport(stream, context, path))  # noqa: SLF001
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value if value <= 0x80000000 else value - 0x100000000
        raise construct.IntegerError("varint is longer than 5 bytes", path=path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        value = int(obj) & 0xFFFFFFFF
        while value >= 0x80:
            construct.Byte._build(value & 0x7F | 0x80, stream, context, path)  # noqa: SLF001
            value >>= 7
        construct.Byte._build(value, stream, context, path)  # noqa: SLF001
        return obj


Uvarint: Final = _Uvarint()


class Sized(construct.Construct):  # type: ignore[misc]
    """Content with a length before it; a negative length (0 when flexible) is null."""

    def __init__(self, length: Any, *, flexible: bool, nullable: bool, text: bool) -> None:
        super().__init__()
        self.length = length
        self.offset = 1 if flexible else 0
        self.nullable = nullable
        self.text = text

    def _parse(self, stream: Any, context: Any, path: str) -> str | bytes | None:
        length = self.length._parsereport(stream, context, path) - self.offset  # noqa: SLF001
        if length < 0:
            if not self.nullable:
                raise construct.CheckError("null where null is not allowed", path=path)
            return None
        if self.text and length > 32767:
            raise construct.CheckError("a string has at most 32767 bytes", path=path)
        data: bytes = construct.stream_read(stream, length, path)
        return str(data, "utf-8", REPLACE) if self.text else data

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                raise construct.CheckError("null where null is not allowed", path=path)
            self.length._build(self.offset - 1, stream, context, path)  # noqa: SLF001
            return obj
        if isinstance(obj, str) != self.text or not isinstance(obj, str | bytes | bytearray | memoryview):
            raise construct.CheckError(f"{obj!r:.60} is no {'text' if self.text else 'bytes'}", path=path)
        data = obj.encode() if isinstance(obj, str) else bytes(obj)
        self.length._build(len(data) + self.offset, stream, context, path)  # noqa: SLF001
        construct.stream_write(stream, data, len(data), path)
        return obj


def bytes_left(stream: Any) -> int:
    """The number of bytes left in a seekable stream."""
    position = stream.seek(0, os.SEEK_CUR)
    end: int = stream.seek(0, os.SEEK_END)
    stream.seek(position)
    return end - int(position)


class _Sequence(construct.Construct):  # type: ignore[misc]
    """A count, then that many elements; a negative count (0 when flexible) is null."""

    def __init__(self, element: Any, *, flexible: bool, nullable: bool) -> None:
        super().__init__()
        self.element = element
        self.count = Uvarint if flexible else construct.Int32sb
        self.offset = 1 if flexible else 0
        self.nullable = nullable

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any] | None:
        count = self.count._parsereport(stream, context, path) - self.offset  # noqa: SLF001
        if count < 0:
            if not self.nullable:
                raise construct.CheckError("null where null is not allowed", path=path)
            return None
        left = bytes_left(stream)
        if count > left:
            raise construct.CheckError(f"{count} elements, {left} bytes left", path=path)
        return [self.element._parsereport(stream, context, f"{path}[{i}]") for i in range(count)]  # noqa: SLF001

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                raise construct.CheckError("null where null is not allowed", path=path)
            self.count._build(self.offset - 1, stream, context, path)  # noqa: SLF001
            return obj
        self.count._build(len(obj) + self.offset, stream, context, path)  # noqa: SLF001
        for index, item in enumerate(obj):
            self.element._build(item, stream, context, f"{path}[{index}]")  # noqa: SLF001
        return obj


class _Optional(construct.Construct):  # type: ignore[misc]
    """A struct with its presence before it: a byte, negative for null; in a tagged field a varint, 0 for null."""

    def __init__(self, inner: Any, *, tagged: bool) -> None:
        super().__init__()
        self.inner = inner
        self.presence = Uvarint if tagged else construct.Int8sb
        self.null = 0 if tagged else -1

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        present = self.presence._parsereport(stream, context, path)  # noqa: SLF001
        return None if present <= self.null else self.inner._parsereport(stream, context, path)  # noqa: SLF001

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        self.presence._build(self.null if obj is None else 1, stream, context, path)  # noqa: SLF001
        if obj is not None:
            self.inner._build(obj, stream, context, path)  # noqa: SLF001
        return obj


class _Tags(construct.Construct):  # type: ignore[misc]
    """The tag section at the end of a flexible struct: name -> value for known tags, number -> bytes for the others."""

    def __init__(self, known: Mapping[int, tuple[str, Any]], of_other_versions: Collection[int]) -> None:
        super().__init__()
        self.known = known
        self.of_other_versions = of_other_versions
        self.flagbuildnone = True

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str | int, Any]:
        found: dict[str | int, Any] = {}
        count = Uvarint._parsereport(stream, context, path)  # noqa: SLF001
        for _ in range(count if count <= INT32_MAX else 0):
            tag = Uvarint._parsereport(stream, context, path) & 0xFFFFFFFF  # noqa: SLF001
            size = Uvarint._parsereport(stream, context, path)  # noqa: SLF001
            if tag in self.of_other_versions:
                raise construct.CheckError(f"tag {tag} is not valid in this version", path=path)
            if tag in self.known:
                name, inner = self.known[tag]
                found[name] = inner._parsereport(stream, context, f"{path} -> {name}")  # noqa: SLF001
            else:
                found[tag] = construct.stream_read(stream, size, path)
        return found

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        names = {name: (tag, inner) for tag, (name, inner) in self.known.items()}
        encoded = []
        for key, value in (obj or {}).items():
            tag, inner = names[key] if isinstance(key, str) else (key, construct.GreedyBytes)
            encoded.append((tag, inner.build(value)))
        Uvarint._build(len(encoded), stream, context, path)  # noqa: SLF001
        for tag, data in sorted(encoded):
            Uvarint._build(tag, stream, context, path)  # noqa: SLF001
            Uvarint._build(len(data), stream, context, path)  # noqa: SLF001
            construct.stream_write(stream, data, len(data), path)
        return obj


def primitive(field_type: FieldType, *, flexible: bool, nullable: bool) -> construct.Construct[Any, Any]:
    """The reference of a type that is not a struct and not an array of structs."""
    if isinstance(field_type, FixedType):
        return _Bool() if field_type.name == "bool" else _FIXED[field_type.name]
    if isinstance(field_type, SizedType):
        plain = construct.Int16sb if field_type.length_format == "h" else construct.Int32sb
        length = Uvarint if flexible else plain
        return Sized(length, flexible=flexible, nullable=nullable, text=field_type is String)
    assert isinstance(field_type, Array)
    assert isinstance(field_type.element, FieldType)
    element = primitive(field_type.element, flexible=flexible, nullable=False)
    return _Sequence(element, flexible=flexible, nullable=nullable)


@lru_cache(maxsize=4096)
def struct_for(cls: type[Message], version: int) -> construct.Struct[Any, Any]:
    """The construct.Struct of one version of a message."""
    if version not in cls.VERSIONS:
        from protocol_specs.errors import UnsupportedVersion

        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    return struct_reference(cls, version, flexible=cls.is_flexible(version))


def struct_reference(cls: type[Struct], version: int, *, flexible: bool) -> construct.Struct[Any, Any]:
    """The reference of a struct inside a message."""
    carried = [f for f in cls.FIELDS if version in f.versions]
    parts = [f.name / field_reference(f, version, flexible=flexible) for f in carried if version not in f.tagged]
    if flexible:
        tagged = [f for f in carried if version in f.tagged]
        known = {f.tag: (f.name, field_reference(f, version, flexible=True)) for f in tagged if f.tag is not None}
        others = [f.tag for f in cls.FIELDS if f.tag is not None and version not in f.tagged]
        parts.append("tags" / _Tags(known, others))
    return construct.Struct(*parts)


def field_reference(f: Field, version: int, *, flexible: bool) -> construct.Construct[Any, Any]:
    """The reference of one field in a version; `flexible` is that of the version."""
    nullable, flexible = version in f.nullable, flexible and f.flexible
    if isinstance(f.type, Array) and not isinstance(f.type.element, FieldType):
        inner = struct_reference(f.type.element, version, flexible=flexible)
        return _Sequence(inner, flexible=flexible, nullable=nullable)
    if isinstance(f.type, FieldType):
        return primitive(f.type, flexible=flexible, nullable=nullable)
    inner = struct_reference(f.type, version, flexible=flexible)
    return _Optional(inner, tagged=version in f.tagged) if nullable else inner


def to_reference(message: Struct, version: int, *, flexible: bool) -> dict[str, Any]:
    """Convert a message to the value that the reference builds and parses in a version."""
    values: dict[str, Any] = {}
    tags: dict[str | int, Any] = {}
    for f in message.FIELDS:
        value = _joined(f, getattr(message, f.name))
        if version not in f.versions:
            continue
        if version not in f.tagged:
            values[f.name] = _reference_value(value, version, flexible=flexible)
        elif value != f.default:
            tags[f.name] = _reference_value(value, version, flexible=flexible)
    if flexible:
        values["tags"] = tags | {tag: bytes(data) for tag, data in message.unknown_tags}
    return values


def _reference_value(value: Any, version: int, *, flexible: bool) -> Any:
    if isinstance(value, Struct):
        return to_reference(value, version, flexible=flexible)
    if isinstance(value, list):
        return [_reference_value(item, version, flexible=flexible) for item in value]
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


def _joined(f: Field, value: Any) -> Any:
    """A record set given as a list of batches is one stretch of bytes on the wire."""
    return b"".join(value) if f.type is Records and isinstance(value, list) else value


def plain(value: Any) -> Any:
    """A parsed Container as plain dicts and lists, to be compared with `to_reference`."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key != "_io"}
    return [plain(item) for item in value] if isinstance(value, list) else value
