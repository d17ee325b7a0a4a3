"""The bytes of a sound message and the places in them where a rule of the wire format can be broken."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.annotate import Span
from protocol_specs.codec.places import Place, places_of
from protocol_specs.codec.runtime import uvarint_bytes
from protocol_specs.fields import FieldType, FixedType

if TYPE_CHECKING:
    from protocol_specs.message import Field, Message

INT32_MAX: Final = 2**31 - 1
INT16_MAX: Final = 2**15 - 1


class SoundBytes:
    """A message's bytes in one version, with every place in them."""

    def __init__(self, cls: type[Message], version: int, data: bytes) -> None:
        self.data = data
        self.flexible = cls.is_flexible(version)
        self.places = places_of(cls, version, data)
        self.whole = _place_of_all(data)
        outer = [p for p in self.places if "." not in p.span.path and "[" not in p.span.path]
        self.tag_count = next((p for p in outer if p.kind == "tag count"), None)
        self.tags = [first_of(p) for p in outer if p.kind == "tag and size"]
        self.known_tags = [f.tag for f in cls.FIELDS if f.tag is not None]
        self.absent_tags = [
            sent
            for f in cls.FIELDS
            if version in f.tagged and f.tag not in self.tags and (sent := _sent_at_its_default(f)) is not None
        ]
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


def _sent_at_its_default(f: Field) -> bytes | None:
    """Tag, size and value of a tagged field at its default; None for a struct."""
    if isinstance(f.type, FixedType):
        value = struct.pack(f">{f.type.format}", f.default)
    elif isinstance(f.type, FieldType):
        value = b"\0" if f.default is None else b"\x01"
    else:
        return None
    assert f.tag is not None
    return uvarint_bytes(f.tag) + uvarint_bytes(len(value)) + value


def first_of(place: Place) -> int:
    """The tag of a place that is a tag and its size."""
    assert isinstance(place.span.value, tuple)
    tag: int = place.span.value[0]
    return tag


def _place_of_all(data: bytes) -> Place:
    span = Span(path="", start=0, stop=len(data), type_name="message", value=None)
    return Place(span=span, field=None, nullable=False, flexible=False, content=0)
