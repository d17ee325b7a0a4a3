"""The bytes of a sound message and the places in them where a rule of the wire format can be broken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.annotate import Span, annotate
from protocol_specs.codec.runtime import uvarint_bytes
from protocol_specs.fields import Array, FieldType

if TYPE_CHECKING:
    from protocol_specs.message import Field, Message, Struct

INT32_MAX: Final = 2**31 - 1
INT16_MAX: Final = 2**15 - 1
_INDEX: Final = re.compile(r"\[\d+\]")
_SIZED: Final = ("string", "bytes", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One span of sound bytes. `field` is its declaration: None for an array's element and for tags.

    `content` is where its length or count ends and what that speaks of begins; an array's span is its count alone.
    """

    span: Span
    field: Field | None
    nullable: bool
    flexible: bool
    content: int

    @property
    def kind(self) -> str:
        """Kafka's name of the type, `[]` before it for an array; or what else the bytes are (`tag count`)."""
        return self.span.type_name

    @property
    def is_count(self) -> bool:
        """Whether it is the count of an array."""
        return self.kind.startswith("[]")

    @property
    def has_length(self) -> bool:
        """Whether it begins with a length or a count; a negative one is null."""
        return self.is_count or self.kind in _SIZED


class SoundBytes:
    """A message's bytes in one version, with every place in them."""

    def __init__(self, cls: type[Message], version: int, data: bytes) -> None:
        self.data = data
        self.flexible = cls.is_flexible(version)
        self.places = [_place(cls, version, span) for span in annotate(cls, version, data)]
        self.whole = _place_of_all(data)
        outer = [p for p in self.places if "." not in p.span.path and "[" not in p.span.path]
        self.tag_count = next((p for p in outer if p.kind == "tag count"), None)
        self.tags = [first_of(p) for p in outer if p.kind == "tag and size"]
        self.known_tags = [f.tag for f in cls.FIELDS if f.tag is not None]
        self.tags_of_other_versions = [f.tag for f in cls.FIELDS if f.tag is not None and version not in f.tagged]

    def left(self, place: Place) -> int:
        """How many bytes come after the length of a place."""
        return len(self.data) - place.content

    def replaced(self, start: int, stop: int, new: bytes) -> bytes:
        """The bytes with another piece between `start` and `stop`."""
        return self.data[:start] + new + self.data[stop:]

    def with_length(self, place: Place, length: int, *, stop: int | None = None) -> bytes:
        """The bytes with another length before a place, in the place of everything up to `stop`."""
        if place.flexible:
            new = uvarint_bytes((length + 1) & 0xFFFFFFFF)
        else:
            size = 2 if place.kind == "string" else 4
            new = (length % 2 ** (8 * size)).to_bytes(size, "big")
        return self.replaced(place.span.start, place.content if stop is None else stop, new)

    def with_one_more_tag(self, tagged: bytes) -> bytes:
        """The bytes with a tag at the end of the message's own section."""
        assert self.tag_count is not None
        count = uvarint_bytes(len(self.tags) + 1)
        return self.replaced(self.tag_count.span.start, self.tag_count.span.stop, count) + tagged

    def length_max(self, place: Place) -> int:
        """The largest length that can be written before a place."""
        return INT16_MAX if place.kind == "string" and not place.flexible else INT32_MAX - 1

    def length_min(self, place: Place) -> int:
        """The smallest length that can be written before a place."""
        return -INT16_MAX - 1 if place.kind == "string" and not place.flexible else -INT32_MAX - 1

    def whole_stop(self, place: Place) -> int:
        """Where the content of a place ends: for an array, after its last element."""
        inner = f"{place.span.path}["
        return max([place.span.stop, *(p.span.stop for p in self.places if p.span.path.startswith(inner))])


def first_of(place: Place) -> int:
    """The tag of a place that is a tag and its size."""
    assert isinstance(place.span.value, tuple)
    tag: int = place.span.value[0]
    return tag


def _place_of_all(data: bytes) -> Place:
    span = Span(path="", start=0, stop=len(data), type_name="message", value=None)
    return Place(span=span, field=None, nullable=False, flexible=False, content=0)


def _place(cls: type[Message], version: int, span: Span) -> Place:
    found = None if span.type_name in {"tag count", "tag and size", "tag data"} else _field_at(cls, span.path)
    nullable = found is not None and version in found.nullable
    flexible = cls.is_flexible(version) and (found is None or found.flexible)
    content = span.stop
    if span.type_name in _SIZED and span.value is not None:
        assert isinstance(span.value, str | bytes)
        content -= len(span.value.encode() if isinstance(span.value, str) else span.value)
    return Place(span=span, field=found, nullable=nullable, flexible=flexible, content=content)


def _field_at(cls: type[Struct], path: str) -> Field | None:
    """The field behind a path; None for an element of an array that is no struct."""
    if path.endswith("]"):
        return None
    inner: FieldType | type[Struct] = cls
    found = None
    for name in _INDEX.sub("", path).split("."):
        assert isinstance(inner, type)
        found = next((f for f in inner.FIELDS if f.name == name), None)
        if found is None:
            return None
        inner = found.type.element if isinstance(found.type, Array) else found.type
    return found
