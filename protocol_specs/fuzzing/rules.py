"""Rules of the wire format that bytes can break, one at a time, and whether a reader must refuse the result.

Kafka's generated readers refuse the first rules below (a length past the end, null where it is not allowed) and accept
the others silently (a negative length that is not -1, a bool of 2, a wrong size before a known tag).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.codec.runtime import INT32_MAX, uvarint_bytes
from protocol_specs.fields import Bool, FieldType, Int8
from protocol_specs.fuzzing.field_parts import Tag, message_map
from protocol_specs.fuzzing.mutations import Mutation, mutated
from protocol_specs.fuzzing.valid_messages import UNKNOWN_TAG_MAX
from protocol_specs.fuzzing.wire_numbers import COMPACT, INT16, UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.fuzzing.field_map import FieldMap, Part, Scope
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


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: the parts `where` it can be broken, and how to break it at one of them."""

    name: str
    where: Callable[[FieldMap], list[Part]]
    breaker: Callable[[_Break], bytes]
    refused: bool = False

    def broken(self, choices: Choices, fields: FieldMap, part: Part) -> bytes:
        """The bytes with the rule broken at a part."""
        return self.breaker(_Break(choices, fields, part))


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


class _Tags:
    """The tag section of a message itself; `count` is the part with the number of its tags."""

    def __init__(self, fields: FieldMap, section: Part) -> None:
        self.count, *inner = fields.children(section)
        self.tags = [part for part in inner if isinstance(part.declared, Tag)]
        numbers = [part.declared.number for part in self.tags]
        scope = _scope(self.count)
        declared = {f.tag: f for f in scope.cls.FIELDS if f.tag is not None}
        self.of_other_versions = [tag for tag, f in declared.items() if scope.version not in f.tagged]
        absent = [f for tag, f in declared.items() if scope.version in f.tagged and tag not in numbers]
        self.at_default = [f for f in absent if isinstance(f.type, FieldType)]
        self.unused = [tag for tag in range(max(numbers, default=-1) + 1) if tag not in declared]


class _Break:
    """Breaks a rule at one part."""

    def __init__(self, choices: Choices, fields: FieldMap, part: Part) -> None:
        self.choices = choices
        self.fields = fields
        self.part = part
        self.data = fields.data

    @property
    def tags(self) -> _Tags:
        tags = _tags_of(self.fields)
        assert tags is not None
        return tags

    def replaced(self, data: bytes, part: Part | None = None) -> bytes:
        part = self.part if part is None else part
        return self.data[: part.start] + data + self.data[part.stop :]

    def with_length(self, low: int, high: int) -> bytes:
        return self.replaced(self.part.declared.write(self.choices.integer(low, high)))

    def with_tag(self, tag: bytes) -> bytes:
        """The bytes with a tag at the end of the message, which is the end of its tag section."""
        return self.replaced(uvarint_bytes(len(self.tags.tags) + 1), self.tags.count) + tag

    def with_tag_of(self, numbers: list[int]) -> bytes:
        return self.with_tag(uvarint_bytes(self.choices.one_of(numbers)) + b"\x01t")

    def with_negative_length(self) -> bytes:
        """Null instead of the content."""
        length = self.part.declared.write(self.choices.integer(_bounds(self.part)[0], -2))
        return self.replaced(length, _holder(self.part))

    def with_unknown_tag_past_the_end(self) -> bytes:
        data = self.choices.data(4)
        size = self.choices.integer(len(data) + 1, 2**32 - 1)
        return self.with_tag(uvarint_bytes(UNKNOWN_TAG_MAX + 1) + uvarint_bytes(size) + data)

    def with_default(self) -> bytes:
        f = self.choices.one_of(self.tags.at_default)
        return mutated(self.fields.copy(), [Mutation.set(f.name, f.default)], reframe=True)

    def with_long_string(self) -> bytes:
        length = self.choices.integer(_INT16_MAX + 1, _INT16_MAX + 300)
        return self.replaced(COMPACT.write(length) + b"s" * length, _holder(self.part))

    def with_padded_varint(self) -> bytes:
        """Zero bits at the top; the fifth byte can even have bits that an int32 lacks."""
        short = self.fields.bytes_of(self.part)
        size = self.choices.integer(len(short) + 1, 5)
        last = self.choices.one_of((0, 0x10, 0x70)) if size == 5 else 0
        padding = b"\x80" * (size - len(short) - 1) + bytes([last])
        return self.replaced(short[:-1] + bytes([short[-1] | 0x80]) + padding)

    def with_other_presence(self) -> bytes:
        is_null = self.data[self.part.start] >= 0x80
        return self.replaced(bytes([self.choices.integer(*((128, 254) if is_null else (2, 127)))]))

    def with_odd_text(self) -> bytes:
        at = self.part.start + self.choices.below(self.part.stop - self.part.start)
        return self.data[:at] + self.choices.one_of((b"\xff", b"\xc0")) + self.data[at + 1 :]


def _parts(select: Callable[[Part], bool]) -> Callable[[FieldMap], list[Part]]:
    return lambda fields: [part for part in fields.parts if select(part)]


def _if_tags(select: Callable[[_Tags], object]) -> Callable[[FieldMap], list[Part]]:
    """The count of the tag section, if the section has what a rule needs."""

    def where(fields: FieldMap) -> list[Part]:
        tags = _tags_of(fields)
        return [tags.count] if tags is not None and select(tags) else []

    return where


def _tags_of(fields: FieldMap) -> _Tags | None:
    section = next((part for part in fields.parts if part.path == "unknown_tags"), None)
    return None if section is None else _Tags(fields, section)


def _own_tags(fields: FieldMap) -> list[Part]:
    tags = _tags_of(fields)
    return tags.tags if tags is not None else []


def _can_exceed_the_end(fields: FieldMap) -> list[Part]:
    return [part for part in fields.parts if _is_length(part) and len(fields.data) - part.stop < _bounds(part)[1]]


def _is_length(part: Part) -> bool:
    """True if it is a length or the count of an array."""
    return part.promise is not None and part.promise.level in {"lengths", "counts"} and part.declared is not UVARINT


def _is_nullable(length: Part) -> bool:
    """True if null is allowed: an element of an array is never null."""
    field = _holder(length).field
    return field is not None and _scope(length).version in field.nullable


def _is_size_of_known_tag(part: Part) -> bool:
    declared = None if part.parent is None else part.parent.declared
    return isinstance(declared, Tag) and declared.field is not None and part.path.endswith(".size")


def _is_varint(part: Part) -> bool:
    return part.declared is COMPACT or part.declared is UVARINT


def _is_text(part: Part) -> bool:
    return part.path.endswith(".content") and _holder(part).type_name == "string" and part.start < part.stop


def _holder(part: Part) -> Part:
    assert part.parent is not None
    return part.parent


def _scope(part: Part) -> Scope:
    return next(outer.scope for outer in part.around() if outer.scope is not None)


def _bounds(length: Part) -> tuple[int, int]:
    """The lowest and the highest number that can be written as a length."""
    return (-_INT16_MAX - 1, _INT16_MAX) if length.declared is INT16 else (-INT32_MAX - 1, INT32_MAX - 1)


RULES: Final = (
    Rule(
        "the bytes end early",
        lambda fields: [fields.root] if fields.data else [],
        lambda b: b.data[: b.choices.below(len(b.data))],
        refused=True,
    ),
    Rule(
        "a length goes past the end",
        _can_exceed_the_end,
        lambda b: b.with_length(len(b.data) - b.part.stop + 1, _bounds(b.part)[1]),
        refused=True,
    ),
    Rule(
        "null where null is not allowed",
        _parts(lambda part: _is_length(part) and not _is_nullable(part)),
        lambda b: b.with_length(_bounds(b.part)[0], -1),
        refused=True,
    ),
    Rule(
        "a varint has six bytes",
        _parts(_is_varint),
        lambda b: b.replaced(b.choices.one_of((b"\x80" * 5 + b"\x00", b"\xff" * 5 + b"\x01"))),
        refused=True,
    ),
    Rule(
        "there are fewer tags than announced",
        _if_tags(lambda _: True),
        lambda b: b.with_length(len(b.tags.tags) + 1, INT32_MAX),
        refused=True,
    ),
    Rule(
        "an unknown tag goes past the end", _if_tags(lambda _: True), _Break.with_unknown_tag_past_the_end, refused=True
    ),
    Rule(
        "a tag belongs to another version",
        _if_tags(lambda tags: tags.of_other_versions),
        lambda b: b.with_tag_of(b.tags.of_other_versions),
        refused=True,
    ),
    Rule(
        "a string has more than 32767 bytes",
        _parts(lambda part: _is_length(part) and part.declared is COMPACT and _holder(part).type_name == "string"),
        _Break.with_long_string,
        refused=True,
    ),
    Rule("bytes follow after the end", lambda fields: [fields.root], lambda b: b.data + b.choices.data(8, 1)),
    Rule(
        "null is a negative length that is not -1",
        _parts(lambda part: _is_length(part) and _is_nullable(part)),
        _Break.with_negative_length,
    ),
    Rule("a varint is longer than necessary", _parts(_is_varint), _Break.with_padded_varint),
    Rule("a tag is out of order", _if_tags(lambda tags: tags.unused), lambda b: b.with_tag_of(b.tags.unused)),
    Rule("a tag comes twice", _own_tags, lambda b: b.with_tag(b.fields.bytes_of(b.part))),
    Rule("a tagged field is sent at its default", _if_tags(lambda tags: tags.at_default), _Break.with_default),
    Rule("a known tag has a wrong size", _parts(_is_size_of_known_tag), lambda b: b.with_length(0, INT32_MAX)),
    Rule(
        "the byte before a struct is neither 1 nor -1",
        _parts(lambda part: part.declared is Int8 and part.path.endswith(".presence")),
        _Break.with_other_presence,
    ),
    Rule(
        "a bool is neither 0 nor 1",
        _parts(lambda part: part.declared is Bool),
        lambda b: b.replaced(bytes([b.choices.integer(2, 255)])),
    ),
    Rule("a string is not UTF-8", _parts(_is_text), _Break.with_odd_text),
)
"""Every rule, those that a reader refuses first."""
