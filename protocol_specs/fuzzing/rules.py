"""Rules of the wire format that bytes can break, one at a time, and whether a reader must refuse the result.

Kafka's generated readers refuse the first rules below (a length past the end, null where it is not allowed) and accept
the others silently (a negative length that is not -1, a bool of 2, a wrong size before a known tag).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from protocol_specs.codec.runtime import INT32_MAX, uvarint_bytes
from protocol_specs.fields import Bool, FieldType, Int8
from protocol_specs.fuzzing.field_map import FieldMap, Part
from protocol_specs.fuzzing.field_parts import Tag, message_map
from protocol_specs.fuzzing.mutations import Mutation, mutated
from protocol_specs.fuzzing.valid_messages import UNKNOWN_TAG_MAX
from protocol_specs.fuzzing.wire_numbers import COMPACT, INT16, UVARINT

if TYPE_CHECKING:
    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.message import Message

_INT16_MAX: Final = 2**15 - 1
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: the parts `where` it can be broken, and the bytes with it `broken` at one of them."""

    name: str
    refused: bool
    where: Callable[[FieldMap], list[Part]]
    broken: _Breaker


_Breaker: TypeAlias = Callable[["Choices", FieldMap, Part], bytes]


def nearly_valid(
    choices: Choices,
    cls: type[Message],
    version: int,
    data: bytes,
    *,
    refused: bool | None = None,
    rules: Collection[str] | None = None,
) -> NearlyValid | None:
    """The valid bytes of a message with one rule broken; None if no rule can be broken in them.

    `refused` selects the rules that a reader refuses or accepts; `rules` selects them by name.
    """
    fields = message_map(cls, version, data)
    options = [
        (rule, parts)
        for rule, parts in breakable(fields)
        if (refused is None or rule.refused is refused) and (rules is None or rule.name in rules)
    ]
    if not options:
        return None
    rule, parts = choices.one_of(options)
    return NearlyValid(rule.broken(choices, fields, choices.one_of(parts)), rule.name, rule.refused)


def breakable(fields: FieldMap) -> list[tuple[Rule, list[Part]]]:
    """The rules that can be broken in a message, each with the parts where."""
    return [(rule, parts) for rule in RULES if (parts := rule.where(fields))]


def _selected(select: Callable[[Part], bool]) -> Callable[[FieldMap], list[Part]]:
    return lambda fields: [part for part in fields.parts if select(part)]


def _whole(fields: FieldMap) -> list[Part]:
    return [fields.root]


def _whole_not_empty(fields: FieldMap) -> list[Part]:
    return [fields.root] if fields.data else []


def _is_length(part: Part) -> bool:
    """Whether it is a length or the count of an array."""
    return part.promise is not None and part.promise.level in {"lengths", "counts"} and part.declared is not UVARINT


def _is_varint(part: Part) -> bool:
    return part.declared is COMPACT or part.declared is UVARINT


def _is_nullable(length: Part) -> bool:
    """Whether null is allowed: an element of an array is never null."""
    field, scope = _holder(length).field, next(outer.scope for outer in length.around() if outer.scope is not None)
    return field is not None and scope.version in field.nullable


def _is_length_of_text(part: Part) -> bool:
    return _is_length(part) and part.declared is COMPACT and _holder(part).type_name == "string"


def _is_text(part: Part) -> bool:
    return part.path.endswith(".content") and _holder(part).type_name == "string" and part.start < part.stop


def _is_size_of_known_tag(part: Part) -> bool:
    declared = None if part.parent is None else part.parent.declared
    return isinstance(declared, Tag) and declared.field is not None and part.path.endswith(".size")


def _can_exceed_the_end(fields: FieldMap) -> list[Part]:
    return [part for part in fields.parts if _is_length(part) and len(fields.data) - part.stop < _bounds(part)[1]]


def _holder(part: Part) -> Part:
    assert part.parent is not None
    return part.parent


def _bounds(length: Part) -> tuple[int, int]:
    """The lowest and the highest number that can be written as a length."""
    return (-_INT16_MAX - 1, _INT16_MAX) if length.declared is INT16 else (-INT32_MAX - 1, INT32_MAX - 1)


class _Tags:
    """The tag section of a message itself; `count` is the part with the number of its tags."""

    def __init__(self, fields: FieldMap, section: Part) -> None:
        self.count, *inner = fields.children(section)
        self.tags = [part for part in inner if isinstance(part.declared, Tag)]
        numbers = [part.declared.number for part in self.tags]
        scope = next(outer.scope for outer in self.count.around() if outer.scope is not None)
        declared = {f.tag: f for f in scope.cls.FIELDS if f.tag is not None}
        self.of_other_versions = [tag for tag, f in declared.items() if scope.version not in f.tagged]
        self.at_default = [
            f
            for tag, f in declared.items()
            if scope.version in f.tagged and tag not in numbers and isinstance(f.type, FieldType)
        ]
        self.unused = [tag for tag in range(max(numbers, default=-1) + 1) if tag not in declared]


def _tags_of(fields: FieldMap) -> _Tags | None:
    section = next((part for part in fields.parts if part.path == "unknown_tags"), None)
    return None if section is None else _Tags(fields, section)


def _section_with(select: Callable[[_Tags], object]) -> Callable[[FieldMap], list[Part]]:
    """The count of the tag section, if the section has what a rule needs."""

    def where(fields: FieldMap) -> list[Part]:
        tags = _tags_of(fields)
        return [tags.count] if tags is not None and select(tags) else []

    return where


def _own_tags(fields: FieldMap) -> list[Part]:
    tags = _tags_of(fields)
    return tags.tags if tags is not None else []


def _replaced(fields: FieldMap, part: Part, data: bytes) -> bytes:
    return fields.data[: part.start] + data + fields.data[part.stop :]


def _with_one_more_tag(fields: FieldMap, tag: bytes) -> bytes:
    tags = _tags_of(fields)
    assert tags is not None
    return _replaced(fields, tags.count, uvarint_bytes(len(tags.tags) + 1)) + tag


def _cut(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    return fields.data[: choices.below(part.stop)]


def _append(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    del part
    return fields.data + choices.data(8, 1)


def _length_past_the_end(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    length = choices.integer(len(fields.data) - part.stop + 1, _bounds(part)[1])
    return _replaced(fields, part, part.declared.write(length))


def _null(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    return _replaced(fields, part, part.declared.write(-choices.integer(1, -_bounds(part)[0])))


def _negative_length(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    return _replaced(fields, _holder(part), part.declared.write(-choices.integer(2, -_bounds(part)[0])))


def _varint_of_six_bytes(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    return _replaced(fields, part, choices.one_of((b"\x80" * 5 + b"\x00", b"\xff" * 5 + b"\x01")))


def _varint_with_padding(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    """Zero bits at the top; the fifth byte can even have bits that an int32 lacks."""
    short = fields.bytes_of(part)
    size = choices.integer(len(short) + 1, 5)
    last = choices.one_of((0, 0x10, 0x70)) if size == 5 else 0
    padding = b"\x80" * (size - len(short) - 1) + bytes([last])
    return _replaced(fields, part, short[:-1] + bytes([short[-1] | 0x80]) + padding)


def _string_too_long(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    length = choices.integer(_INT16_MAX + 1, _INT16_MAX + 300)
    return _replaced(fields, _holder(part), COMPACT.write(length) + b"s" * length)


def _more_tags_than_exist(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    tags = _tags_of(fields)
    assert tags is not None
    return _replaced(fields, part, uvarint_bytes(choices.integer(len(tags.tags) + 1, INT32_MAX)))


def _unknown_tag_past_the_end(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    del part
    data = choices.data(4)
    size = choices.integer(len(data) + 1, 2**32 - 1)
    return _with_one_more_tag(fields, uvarint_bytes(UNKNOWN_TAG_MAX + 1) + uvarint_bytes(size) + data)


def _tag_from(select: Callable[[_Tags], list[int]]) -> _Breaker:
    """One more tag, with a number that the section must not have there."""

    def broken(choices: Choices, fields: FieldMap, part: Part) -> bytes:
        del part
        tags = _tags_of(fields)
        assert tags is not None
        return _with_one_more_tag(fields, uvarint_bytes(choices.one_of(select(tags))) + b"\x01t")

    return broken


def _tag_twice(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    del choices
    return _with_one_more_tag(fields, fields.bytes_of(part))


def _tag_at_its_default(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    del part
    tags = _tags_of(fields)
    assert tags is not None
    f = choices.one_of(tags.at_default)
    return mutated(fields.copy(), [Mutation.set(f.name, f.default)], reframe=True)


def _wrong_size_of_a_known_tag(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    return _replaced(fields, part, uvarint_bytes(choices.integer(0, INT32_MAX)))


def _other_presence(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    is_null = fields.data[part.start] >= 0x80
    return _replaced(fields, part, bytes([choices.integer(128, 254) if is_null else choices.integer(2, 127)]))


def _other_bool(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    return _replaced(fields, part, bytes([choices.integer(2, 255)]))


def _not_utf_8(choices: Choices, fields: FieldMap, part: Part) -> bytes:
    at = part.start + choices.below(part.stop - part.start)
    return fields.data[:at] + choices.one_of((b"\xff", b"\xc0")) + fields.data[at + 1 :]


def _rule(name: str, where: Callable[[FieldMap], list[Part]], broken: _Breaker, *, refused: bool = False) -> Rule:
    return Rule(name=name, refused=refused, where=where, broken=broken)


RULES: Final = (
    _rule("the bytes end early", _whole_not_empty, _cut, refused=True),
    _rule("a length goes past the end", _can_exceed_the_end, _length_past_the_end, refused=True),
    _rule(
        "null where null is not allowed",
        _selected(lambda part: _is_length(part) and not _is_nullable(part)),
        _null,
        refused=True,
    ),
    _rule("a varint has six bytes", _selected(_is_varint), _varint_of_six_bytes, refused=True),
    _rule("there are fewer tags than announced", _section_with(lambda _: True), _more_tags_than_exist, refused=True),
    _rule("an unknown tag goes past the end", _section_with(lambda _: True), _unknown_tag_past_the_end, refused=True),
    _rule(
        "a tag belongs to another version",
        _section_with(lambda tags: tags.of_other_versions),
        _tag_from(lambda tags: tags.of_other_versions),
        refused=True,
    ),
    _rule("a string has more than 32767 bytes", _selected(_is_length_of_text), _string_too_long, refused=True),
    _rule("bytes follow after the end", _whole, _append),
    _rule(
        "null is a negative length that is not -1",
        _selected(lambda part: _is_length(part) and _is_nullable(part)),
        _negative_length,
    ),
    _rule("a varint is longer than necessary", _selected(_is_varint), _varint_with_padding),
    _rule("a tag is out of order", _section_with(lambda tags: tags.unused), _tag_from(lambda tags: tags.unused)),
    _rule("a tag comes twice", _own_tags, _tag_twice),
    _rule("a tagged field is sent at its default", _section_with(lambda tags: tags.at_default), _tag_at_its_default),
    _rule("a known tag has a wrong size", _selected(_is_size_of_known_tag), _wrong_size_of_a_known_tag),
    _rule(
        "the byte before a struct is neither 1 nor -1",
        _selected(lambda part: part.declared is Int8 and part.path.endswith(".presence")),
        _other_presence,
    ),
    _rule("a bool is neither 0 nor 1", _selected(lambda part: part.declared is Bool), _other_bool),
    _rule("a string is not UTF-8", _selected(_is_text), _not_utf_8),
)
"""Every rule, those that a reader refuses first."""
