"""Kafka's primitive types as the parts that message declarations are made of. Mirrors Kafka's FieldType.

A part has three attributes: its `struct` format when its size is fixed, its zero value (the default where a
declaration gives none), and its construct, which is the readable reference (`construct` is imported on first use of a
reference, because importing it costs more than the rest of the package).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    import construct

    from protocol_specs.message import Struct


class FieldType:
    """One type of the wire. `name` is Kafka's name for it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def construct(self, *, flexible: bool, nullable: bool) -> construct.Construct[Any, Any]:
        """The reference parser and builder of this type."""
        from protocol_specs.codec import struct_builder

        return struct_builder.primitive(self, flexible=flexible, nullable=nullable)


class FixedType(FieldType):
    """A type whose size never changes: `format` is its code for the `struct` module, big endian."""

    __slots__ = ("format", "size", "zero")

    def __init__(self, name: str, format_code: str, size: int, zero: bool | float | bytes) -> None:  # noqa: FBT001
        super().__init__(name)
        self.format = format_code
        self.size = size
        self.zero = zero


class SizedType(FieldType):
    """A type with a length before it: string (int16 when not flexible), bytes and records (int32)."""

    __slots__ = ("length_format", "zero")

    def __init__(self, name: str, length_format: str, zero: str | bytes | None) -> None:
        super().__init__(name)
        self.length_format = length_format
        self.zero = zero


class Array(FieldType):
    """Zero or more elements with a count before them (int32, or a varint of count + 1); elements are never null."""

    __slots__ = ("element",)

    def __init__(self, element: FieldType | type[Struct]) -> None:
        super().__init__(f"[]{element.name if isinstance(element, FieldType) else element.__name__}")
        self.element = element


Bool: Final = FixedType("bool", "?", 1, zero=False)
Int8: Final = FixedType("int8", "b", 1, 0)
Int16: Final = FixedType("int16", "h", 2, 0)
Uint16: Final = FixedType("uint16", "H", 2, 0)
Int32: Final = FixedType("int32", "i", 4, 0)
Uint32: Final = FixedType("uint32", "I", 4, 0)
Int64: Final = FixedType("int64", "q", 8, 0)
Float64: Final = FixedType("float64", "d", 8, 0.0)
Uuid: Final = FixedType("uuid", "16s", 16, ZERO_UUID)
String: Final = SizedType("string", "h", "")
Bytes: Final = SizedType("bytes", "i", b"")
Records: Final = SizedType("records", "i", None)
