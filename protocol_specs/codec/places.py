"""The position of each field in the bytes of a message: the spans of `annotate` with their declarations.

Conformance is checked at these places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.annotate import Span, annotate
from protocol_specs.fields import Array, FieldType

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, Field, Message, Struct

SIZED_KINDS: Final = ("string", "bytes", "records")
TAG_KINDS: Final = ("tag count", "tag and size", "tag data")
_INDEX: Final = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One span of a message's bytes. `field` is its declaration: None for an array's element and for tags.

    `content` is the position after its length or count; the span of an array is its count alone.
    """

    span: Span
    field: Field | None
    nullable: bool
    flexible: bool
    content: int

    @property
    def kind(self) -> str:
        """Kafka's name of the type, `[]` before it for an array; or the purpose of the bytes (`tag count`)."""
        return self.span.type_name

    @property
    def is_count(self) -> bool:
        """True if it is the count of an array."""
        return self.kind.startswith("[]")

    @property
    def has_length(self) -> bool:
        """True if it begins with a length or a count; a negative one is null."""
        return self.is_count or self.kind in SIZED_KINDS


def places_of(cls: type[Message], version: int, data: Buffer, position: int = 0) -> list[Place]:
    """Every place of the message that begins at `position`, in wire order. Raises MessageDecodeError."""
    return [_place(cls, version, data, span) for span in annotate(cls, version, data, position)]


def field_at(cls: type[Struct], path: str) -> Field | None:
    """The declaration of a path; None for an element of an array and for `unknown_tags`."""
    if path.endswith("]"):
        return None
    return _field_at(cls, _INDEX.sub("", path))  # type: ignore[arg-type]  # a class is hashable, see Message.struct


@lru_cache(maxsize=8192)
def _field_at(cls: type[Struct], path: str) -> Field | None:
    inner: FieldType | type[Struct] = cls
    found = None
    for name in path.split("."):
        if isinstance(inner, FieldType):
            return None
        found = next((f for f in inner.FIELDS if f.name == name), None)
        if found is None:
            return None
        inner = found.type.element if isinstance(found.type, Array) else found.type
    return found


def varint_stop(data: Buffer, position: int) -> int:
    """The position after the varint at `position`."""
    while data[position] >= 0x80:
        position += 1
    return position + 1


def _place(cls: type[Message], version: int, data: Buffer, span: Span) -> Place:
    found = None if span.type_name in TAG_KINDS else field_at(cls, span.path)
    nullable = found is not None and version in found.nullable
    flexible = cls.is_flexible(version) and (found is None or found.flexible)
    content = span.stop
    if span.type_name in SIZED_KINDS:
        content = varint_stop(data, span.start) if flexible else span.start + (2 if span.type_name == "string" else 4)
    return Place(span=span, field=found, nullable=nullable, flexible=flexible, content=content)
