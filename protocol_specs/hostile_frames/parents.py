"""Sound bytes that hostile ones are made of, with the points where an edit hurts: lengths, counts, tags, fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.codec.places import places_of
from protocol_specs.hostile_frames.subjects import Route
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from protocol_specs.records.message_peek import KEY_OFFSET, MessageHeader
from protocol_specs.records.record_set import iterate_any

if TYPE_CHECKING:
    from protocol_specs.codec.places import Place
    from protocol_specs.hostile_frames.subjects import Subject
    from protocol_specs.hostile_frames.values import ValueMaker
    from protocol_specs.message import Message

_BATCH_FIELDS: Final[tuple[tuple[int, int], ...]] = (
    *((0, 8), (12, 16), (16, 17), (17, 21), (21, 23)),
    *((23, 27), (27, 35), (35, 43), (43, 51), (51, 53), (53, 57)),
)
"""Where the fields of a record batch's header begin and stop; the batch length and the record count are lengths."""
_MESSAGE_FIELDS: Final[tuple[tuple[int, int], ...]] = ((0, 8), (12, 16), (16, 17), (17, 18), (18, 26), (22, 26))
"""The same for a message of magic 0 or 1, where the two differ for either."""
_BATCH_LENGTH: Final = 8
_RECORD_COUNT: Final = 57


class LengthPoint(NamedTuple):
    """A length or a count at `start`; what it speaks of begins at `content`. `width` is 0 for a varint of one more."""

    start: int
    content: int
    width: int
    value: int


class TagsPoint(NamedTuple):
    """The count of a tag section."""

    start: int
    stop: int
    number: int


class FieldPoint(NamedTuple):
    """The bytes of a field, a tagged one with its tag and size."""

    start: int
    stop: int


@dataclass(slots=True, kw_only=True)
class Parent:
    """Sound bytes of a subject, without a frame's size; `message` is what they hold, from `body` on."""

    subject: Subject
    data: bytes
    message: Message | None = None
    body: int = 0
    lengths: list[LengthPoint] = field(default_factory=list)
    tag_sections: list[TagsPoint] = field(default_factory=list)
    tags: list[FieldPoint] = field(default_factory=list)
    fields: list[FieldPoint] = field(default_factory=list)


def make_parent(subject: Subject, make: ValueMaker) -> Parent:
    """A sound parent of the chances that `make` holds."""
    cls, version = subject.cls, subject.version
    if cls is None:
        return _record_set_parent(subject, make.one_of(make.record_sets))
    message = make.message(cls, version)
    header: Message | None = None
    header_version = 0
    if subject.route is Route.REQUEST:
        header_version = request_header_version(cls, version)
        header = make.message(RequestHeader, header_version)
        header.request_api_key, header.request_api_version = cls.API_KEY, version  # type: ignore[attr-defined]
    elif subject.route is Route.RESPONSE:
        header_version = response_header_version(cls, version)
        header = make.message(ResponseHeader, header_version)
    head = header.encode(header_version) if header else b""
    parent = Parent(subject=subject, data=head + message.encode(version), message=message, body=len(head))
    if header is not None:
        _add_points(parent, places_of(type(header), header_version, parent.data))
    _add_points(parent, places_of(cls, version, parent.data, len(head)))
    return parent


def _add_points(parent: Parent, places: list[Place]) -> None:
    for place in places:
        span = place.span
        if place.has_length:
            value = span.value if isinstance(span.value, int) else span.stop - place.content
            width = 0 if place.flexible else place.content - span.start
            parent.lengths.append(LengthPoint(span.start, place.content, width, -1 if span.value is None else value))
        if place.kind == "tag count":
            parent.tag_sections.append(TagsPoint(span.start, span.stop, parent.data[span.start]))
        elif place.kind == "tag and size":
            assert isinstance(span.value, tuple)
            parent.tags.append(FieldPoint(span.start, span.stop + span.value[1]))
        else:
            parent.fields.append(FieldPoint(span.start, span.stop))


def _record_set_parent(subject: Subject, data: bytes) -> Parent:
    parent = Parent(subject=subject, data=data)
    at = 0
    for header, batch in iterate_any(data):
        if isinstance(header, MessageHeader):
            lengths = [(_BATCH_LENGTH, header.size), (KEY_OFFSET[header.magic], 0)]
            fields = _MESSAGE_FIELDS
        else:
            lengths = [(_BATCH_LENGTH, header.batch_length), (_RECORD_COUNT, header.records_count)]
            fields = _BATCH_FIELDS
        parent.lengths.extend(LengthPoint(at + start, at + start + 4, 4, value) for start, value in lengths)
        parent.fields.extend(FieldPoint(at + start, at + stop) for start, stop in fields)
        at += len(batch)
    return parent
