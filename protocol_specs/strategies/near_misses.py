"""Bytes of a message with one rule of the wire format broken, and what a reader must make of them.

Kafka's generated readers refuse the first rules below (a length past the end, null where there is none) and take the
others without a word (a negative length that is not -1, a bool of 2, a wrong size before a known tag).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hypothesis import reject
from hypothesis import strategies as st

from protocol_specs.codec.places import Place
from protocol_specs.codec.runtime import uvarint_bytes
from protocol_specs.strategies.messages import UNKNOWN_TAG_MAX, message
from protocol_specs.strategies.sound_bytes import INT16_MAX, INT32_MAX, SoundBytes, first_of

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from protocol_specs.message import Message

_SHOWN_BYTES_MAX: Final = 2000


class NearlyValid(NamedTuple):
    """Bytes, the one rule that they break, and whether a reader of this version must refuse them."""

    data: bytes
    rule: str
    refused: bool

    def __repr__(self) -> str:
        return f"NearlyValid({shown(self.data)}, {self.rule!r}, refused={self.refused})"


def shown(data: bytes) -> str:
    """Bytes for a report: Hypothesis warns of representations of 30 KB and more."""
    return repr(data) if len(data) <= _SHOWN_BYTES_MAX else f"{data[:_SHOWN_BYTES_MAX]!r}... ({len(data)} bytes)"


@st.composite
def nearly_valid(
    draw: DrawFn, cls: type[Message], version: int, *, rules: Collection[str] | None = None
) -> NearlyValid:
    """Draw a message of one version, encode it, and break one rule of the wire format: any, or one of these names."""
    return broken(draw, cls, version, draw(message(cls, version)).encode(version), rules=rules)


def broken(
    draw: DrawFn,
    cls: type[Message],
    version: int,
    data: bytes,
    *,
    refused: bool | None = None,
    rules: Collection[str] | None = None,
) -> NearlyValid:
    """Break one rule of the sound bytes of a message: with `refused`, one of those that a reader refuses, or takes."""
    sound = SoundBytes(cls, version, data)
    allowed = [rule for rule in RULES if refused is None or rule.refused is refused]
    if rules is not None:
        allowed = [rule for rule in allowed if rule.name in rules]
    choices = [(rule, places) for rule in allowed if (places := rule.where(sound))]
    if not choices:
        reject()  # of a message without bytes nothing can be refused
    rule, places = draw(st.sampled_from(choices))
    return NearlyValid(rule.broken(draw, sound, draw(st.sampled_from(places))), rule.name, rule.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to break bytes: `where` it can be broken, and the bytes of it `broken` at one of these places."""

    name: str
    refused: bool
    where: Callable[[SoundBytes], list[Place]]
    broken: _Breaker


_Breaker: TypeAlias = Callable[["DrawFn", SoundBytes, Place], bytes]


def _whole(sound: SoundBytes) -> list[Place]:
    return [sound.whole]


def _whole_not_empty(sound: SoundBytes) -> list[Place]:
    return [sound.whole] if sound.data else []


def _lengths(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.has_length and sound.left(p) < sound.length_max(p)]


def _never_null(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.has_length and not p.nullable]


def _nullable(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.has_length and p.nullable]


def _varints(sound: SoundBytes) -> list[Place]:
    kinds = ("tag count", "tag and size")
    return [p for p in sound.places if p.flexible and (p.has_length or p.kind in kinds)]


def _compact_strings(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.flexible and p.kind == "string"]


def _own_tags(sound: SoundBytes) -> list[Place]:
    return [sound.tag_count] if sound.tag_count is not None else []


def _own_tags_with_others(sound: SoundBytes) -> list[Place]:
    return [sound.tag_count] if sound.tag_count is not None and sound.tags_of_other_versions else []


def _own_tags_present(sound: SoundBytes) -> list[Place]:
    return [sound.tag_count] if sound.tag_count is not None and _tags_before_the_last(sound) else []


def _tags_before_the_last(sound: SoundBytes) -> list[int]:
    return [tag for tag in range(max(sound.tags, default=-1) + 1) if tag not in sound.known_tags]


def _sizes_of_known_tags(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.kind == "tag and size" and not p.span.path.endswith("unknown_tags")]


def _tags_at_their_default(sound: SoundBytes) -> list[Place]:
    return [sound.tag_count] if sound.tag_count is not None and sound.absent_tags else []


def _own_tags_sent(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.kind == "tag and size" and "." not in p.span.path and "[" not in p.span.path]


def _presence(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.kind == "presence"]


def _bools(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.kind == "bool"]


def _texts(sound: SoundBytes) -> list[Place]:
    return [p for p in sound.places if p.kind == "string" and p.content < p.span.stop]


def _cut(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del place
    return sound.data[: draw(st.integers(0, len(sound.data) - 1))]


def _length_past_the_end(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    return sound.with_length(place, draw(st.integers(sound.left(place) + 1, sound.length_max(place))))


def _null(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    return sound.with_length(place, -draw(st.integers(1, -sound.length_min(place))))


def _varint_of_six_bytes(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    longer = draw(st.sampled_from((b"\x80" * 5 + b"\x00", b"\xff" * 5 + b"\x01")))
    return sound.replaced(place.span.start, place.content, longer)


def _string_too_long(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    length = draw(st.integers(INT16_MAX + 1, INT16_MAX + 300))
    return sound.replaced(place.span.start, place.span.stop, uvarint_bytes(length + 1) + b"s" * length)


def _more_tags_than_come(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    count = len(sound.tags) + draw(st.integers(1, INT32_MAX - len(sound.tags)))
    return sound.replaced(place.span.start, place.span.stop, uvarint_bytes(count))


def _unknown_tag_past_the_end(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del place
    data = draw(st.binary(max_size=4))
    size = draw(st.integers(len(data) + 1, 2**32 - 1))
    return sound.with_one_more_tag(uvarint_bytes(UNKNOWN_TAG_MAX + 1) + uvarint_bytes(size) + data)


def _tag_of_another_version(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del place
    return sound.with_one_more_tag(uvarint_bytes(draw(st.sampled_from(sound.tags_of_other_versions))) + b"\x01t")


def _bytes_after_the_end(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del place
    return sound.data + draw(st.binary(min_size=1, max_size=8))


def _negative_length(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    length = -draw(st.integers(2, -sound.length_min(place)))
    return sound.with_length(place, length, stop=sound.whole_stop(place))


def _varint_with_padding(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    """Zero bits on top; the fifth byte may even have bits that no int32 has."""
    start, stop = place.span.start, place.content
    if place.kind == "tag and size":
        stop = start + len(uvarint_bytes(first_of(place)))
    short = sound.data[start:stop]
    size = draw(st.integers(len(short) + 1, 5))
    last = draw(st.sampled_from((0, 0x10, 0x70))) if size == 5 else 0
    padded = short[:-1] + bytes([short[-1] | 0x80]) + b"\x80" * (size - len(short) - 1) + bytes([last])
    return sound.replaced(start, stop, padded)


def _tag_out_of_order(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del place
    tag = draw(st.sampled_from(_tags_before_the_last(sound)))
    return sound.with_one_more_tag(uvarint_bytes(tag) + b"\x01t")


def _wrong_size_of_a_known_tag(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    tag = uvarint_bytes(first_of(place))
    size = draw(st.integers(0, INT32_MAX))
    return sound.replaced(place.span.start, place.span.stop, tag + uvarint_bytes(size))


def _tag_twice(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del draw
    size = place.span.value[1]  # type: ignore[index]  # of a tag it is the tag and the size
    return sound.with_one_more_tag(sound.data[place.span.start : place.span.stop + size])


def _tag_at_its_default(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    del place
    return sound.with_one_more_tag(draw(st.sampled_from(sound.absent_tags)))


def _other_presence(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    value = draw(st.integers(2, 127) if place.span.value else st.integers(128, 254))
    return sound.replaced(place.span.start, place.span.stop, bytes([value]))


def _other_bool(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    return sound.replaced(place.span.start, place.span.stop, bytes([draw(st.integers(2, 255))]))


def _not_utf_8(draw: DrawFn, sound: SoundBytes, place: Place) -> bytes:
    size = place.span.stop - place.content
    at = draw(st.integers(0, size - 1))
    return sound.replaced(place.content + at, place.content + at + 1, draw(st.sampled_from((b"\xff", b"\xc0"))))


def _rule(name: str, where: Callable[[SoundBytes], list[Place]], broken_at: _Breaker, *, refused: bool) -> Rule:
    return Rule(name=name, refused=refused, where=where, broken=broken_at)


RULES: Final = (
    _rule("the bytes end early", _whole_not_empty, _cut, refused=True),
    _rule("a length goes past the end", _lengths, _length_past_the_end, refused=True),
    _rule("null where null is not allowed", _never_null, _null, refused=True),
    _rule("a varint has six bytes", _varints, _varint_of_six_bytes, refused=True),
    _rule("there are fewer tags than announced", _own_tags, _more_tags_than_come, refused=True),
    _rule("an unknown tag goes past the end", _own_tags, _unknown_tag_past_the_end, refused=True),
    _rule("a tag belongs to another version", _own_tags_with_others, _tag_of_another_version, refused=True),
    _rule("a string has more than 32767 bytes", _compact_strings, _string_too_long, refused=True),
    _rule("bytes follow after the end", _whole, _bytes_after_the_end, refused=False),
    _rule("null is a negative length that is not -1", _nullable, _negative_length, refused=False),
    _rule("a varint is longer than it need be", _varints, _varint_with_padding, refused=False),
    _rule("a tag is out of order", _own_tags_present, _tag_out_of_order, refused=False),
    _rule("a tag comes twice", _own_tags_sent, _tag_twice, refused=False),
    _rule("a tagged field is sent at its default", _tags_at_their_default, _tag_at_its_default, refused=False),
    _rule("a known tag has a wrong size", _sizes_of_known_tags, _wrong_size_of_a_known_tag, refused=False),
    _rule("the byte before a struct is neither 1 nor -1", _presence, _other_presence, refused=False),
    _rule("a bool is neither 0 nor 1", _bools, _other_bool, refused=False),
    _rule("a string is not UTF-8", _texts, _not_utf_8, refused=False),
)
"""Every rule that is broken here, those that a reader refuses first."""
