"""Bytes of a message that a broker accepts but that no correct peer writes. The counterpart of Kafka's MessageUtil.

Kafka's generated readers are lenient: they leave bytes after the end alone, replace what is not UTF-8, take any byte
for a bool and any negative length for null, and ignore the size of a known tag. `deviations` names each such place.
Unknown tags are not deviations: KIP-482 allows them from a newer peer. Bytes that no reader accepts raise
MessageDecodeError, as in decoding.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.places import Place, field_at, places_of, varint_stop
from protocol_specs.codec.runtime import INT32_MAX, uvarint
from protocol_specs.fields import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.codec.annotate import Span
    from protocol_specs.message import Buffer, Message

_SHOWN_BYTES_MAX: Final = 16


class Rule(enum.Enum):
    """A rule of the wire format that readers do not enforce."""

    BYTES_AFTER_THE_END = "the message ends where the frame ends"
    UTF_8 = "a string is UTF-8"
    BOOL = "a bool is 0 or 1"
    SHORT_VARINT = "a varint takes no more bytes than its number needs"
    NULL_LENGTH = "null is the length -1"
    PRESENCE = "the byte before a struct that may be null is 1, or -1 for null; in a tagged field a varint, 0 for null"
    TAG_COUNT = "the number of tags is no negative int32"
    TAG_NUMBER = "a tag is no negative int32"
    TAG_ORDER = "tags ascend"
    TAG_TWICE = "a tag comes once"
    TAG_SIZE = "the size of a tagged field is the size of its value"
    TAGGED_DEFAULT = "a tagged field at its default is not sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """The bytes `position` to `stop`, of the field at `path`, break `rule`; `detail` is the value that does."""

    path: str
    position: int
    stop: int
    rule: Rule
    detail: str

    def __str__(self) -> str:
        place = f"{self.path}, byte {self.position}" if self.path else f"byte {self.position}"
        return f"{place}: {self.detail}; the rule: {self.rule.value}"


def deviations(
    cls: type[Message], version: int, data: Buffer, position: int = 0, *, fills: bool = True
) -> list[Deviation]:
    """The deviations of the message that begins at `position`, by byte. Raises MessageDecodeError.

    `fills=False` when other bytes follow the message, as after a header.
    """
    return _Examination(cls, version, data).run(position, fills=fills)


def request_deviations(frame: Buffer) -> list[Deviation]:
    """The deviations of a whole request frame (without its size): of its header, then of its body.

    Raises MessageDecodeError, UnknownApi and UnsupportedVersion.
    """
    from protocol_specs.framing import decode_request_header
    from protocol_specs.messages.headers import RequestHeader, request_header_version
    from protocol_specs.registry import request_type

    header, position = decode_request_header(frame)
    request = request_type(header.request_api_key)
    version = header.request_api_version
    found = deviations(RequestHeader, request_header_version(request, version), frame, fills=False)
    return found + deviations(request, version, frame, position)


def response_deviations(cls: type[Message], version: int, frame: Buffer) -> list[Deviation]:
    """The deviations of a whole response frame (without its size): of its header, then of its body."""
    from protocol_specs.messages.headers import ResponseHeader, response_header_version

    header_version = response_header_version(cls, version)
    _, position = ResponseHeader.decode_from(header_version, frame, 0)
    found = deviations(ResponseHeader, header_version, frame, fills=False)
    return found + deviations(cls, version, frame, position)


class _Examination:
    def __init__(self, cls: type[Message], version: int, data: Buffer) -> None:
        self.cls = cls
        self.version = version
        self.data = data
        self.tags_seen: dict[str, list[int]] = {}
        self.found: list[Deviation] = []

    def run(self, position: int, *, fills: bool) -> list[Deviation]:
        places = places_of(self.cls, self.version, self.data, position)
        stop = places[-1].span.stop if places else position
        for index, place in enumerate(places):
            self.examine(place, places, index)
        if fills and stop < len(self.data):
            count = len(self.data) - stop
            self.add("", stop, len(self.data), Rule.BYTES_AFTER_THE_END, f"{count} bytes follow")
        return sorted(self.found, key=lambda deviation: deviation.position)

    def add(self, path: str, start: int, stop: int, rule: Rule, detail: str) -> None:
        self.found.append(Deviation(path=path, position=start, stop=stop, rule=rule, detail=detail))

    def examine(self, place: Place, places: list[Place], index: int) -> None:
        span = place.span
        if place.has_length:
            self.length(place)
            if place.kind == "string" and span.value is not None:
                self.text(place)
        elif place.kind == "bool":
            self.byte(span, (0, 1), Rule.BOOL)
        elif place.kind == "presence":
            self.byte(span, (1, 0xFF), Rule.PRESENCE)
        elif place.kind == "tagged presence":
            self.varint(span.path, span.start)
            if self.uvarint(span.start) not in {0, 1}:
                detail = f"the varint is {self.uvarint(span.start)}, read as {span.value}"
                self.add(span.path, span.start, span.stop, Rule.PRESENCE, detail)
        elif place.kind == "tag count":
            self.tags_seen[_section(span.path)] = []
            self.varint(span.path, span.start)
            count = self.uvarint(span.start)
            if count < 0 or count > INT32_MAX:
                self.add(span.path, span.start, span.stop, Rule.TAG_COUNT, f"{count & 0xFFFFFFFF} tags, read as none")
        elif place.kind == "tag and size":
            self.tag(place, places, index)

    def byte(self, span: Span, allowed: tuple[int, ...], rule: Rule) -> None:
        value = self.data[span.start]
        if value not in allowed:
            self.add(span.path, span.start, span.stop, rule, f"the byte is {value:#04x}, read as {span.value}")

    def uvarint(self, position: int) -> int:
        return uvarint(self.data, position)[0]

    def varint(self, path: str, start: int) -> int:
        """Check the varint at `start`; return where it ends."""
        stop = varint_stop(self.data, start)
        value = sum((self.data[at] & 0x7F) << 7 * (at - start) for at in range(start, stop))
        needed = max(1, (value.bit_length() + 6) // 7)
        if value > 0xFFFFFFFF:
            self.add(path, start, stop, Rule.SHORT_VARINT, f"{value:#x} has bits that an int32 has not")
        elif needed < stop - start:
            self.add(path, start, stop, Rule.SHORT_VARINT, f"{value} takes {stop - start} bytes, {needed} would do")
        return stop

    def length(self, place: Place) -> None:
        span = place.span
        if place.flexible:
            self.varint(span.path, span.start)
            length = self.uvarint(span.start) - 1
        else:
            length = int.from_bytes(self.data[span.start : place.content], "big", signed=True)
        if span.value is None and length != -1:
            self.add(span.path, span.start, place.content, Rule.NULL_LENGTH, f"length {length}, read as null")

    def text(self, place: Place) -> None:
        raw = bytes(self.data[place.content : place.span.stop])
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            start, stop = place.content + error.start, place.content + error.end
            shown = raw[error.start : error.start + _SHOWN_BYTES_MAX].hex(" ")
            self.add(place.span.path, start, stop, Rule.UTF_8, f"{shown} is no UTF-8 ({error.reason})")

    def tag(self, place: Place, places: list[Place], index: int) -> None:
        span = place.span
        size_at = self.varint(span.path, span.start)
        self.varint(span.path, size_at)
        tag = self.uvarint(span.start) & 0xFFFFFFFF
        if tag > INT32_MAX:
            self.add(span.path, span.start, size_at, Rule.TAG_NUMBER, f"tag {tag}")
        seen = self.tags_seen.setdefault(_section(span.path), [])
        if tag in seen:
            self.add(span.path, span.start, size_at, Rule.TAG_TWICE, f"tag {tag} again, read over the earlier one")
        elif seen and tag < seen[-1]:
            self.add(span.path, span.start, size_at, Rule.TAG_ORDER, f"tag {tag} after tag {seen[-1]}")
        seen.append(tag)
        f = field_at(self.cls, span.path)
        if f is None:
            return
        inner = list(_inside(places, index))
        size, stop = self.uvarint(size_at), inner[-1].span.stop
        if size != stop - span.stop:
            self.add(span.path, size_at, span.stop, Rule.TAG_SIZE, f"size {size}, the value takes {stop - span.stop}")
        if all(_is_default(p) for p in inner):
            self.add(span.path, span.start, stop, Rule.TAGGED_DEFAULT, f"tag {tag} carries the default of {f.name}")


def _is_default(place: Place) -> bool:
    """True if a place within a tagged field holds its field's default."""
    f, value = place.field, place.span.value
    if f is None:
        return value == 0  # the count of a tag section
    if place.kind in {"presence", "tagged presence"}:
        return (value is False) is (f.default is None)
    if isinstance(f.type, Array):
        return (value is None) if f.default is None else value == 0
    return bool(value == f.default)


def _section(path: str) -> str:
    """The struct whose tag section a path belongs to."""
    return path.rpartition(".")[0]


def _inside(places: list[Place], index: int) -> Iterator[Place]:
    """The places of the value of the known tag at `index`."""
    path = places[index].span.path
    for place in places[index + 1 :]:
        inner = place.span.path
        if not (inner.startswith((f"{path}.", f"{path}[")) or (inner == path and place.kind != "tag and size")):
            return
        yield place
