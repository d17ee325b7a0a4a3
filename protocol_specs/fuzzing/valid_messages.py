"""Valid messages: which values a version of a declaration can carry. The counterpart of Kafka's JSON schemas.

A message has values for the fields that its version carries, and defaults for the others, so that it survives encoding
and decoding. Hypothesis shrinks it to empty arrays, null, zero, and tagged fields at their default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.fields import Array, FieldType, FixedType, Records, SizedType, String

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.message import Field, Message, Struct

UNKNOWN_TAG_MAX: Final = 300
"""The highest unknown tag of valid input: its number takes two bytes on the wire."""

STRUCTS_MAX: Final = 3
"""How many structs an array has at most: three levels of them make messages of some hundred bytes."""

VALUES_MAX: Final = 30
"""How many elements an array of simple values has at most."""

_BORDER_LENGTHS: Final = (126, 127, 128)
"""Lengths on both sides of where the varint of length + 1 takes another byte."""
_INTEGERS: Final[Mapping[str, tuple[int, int]]] = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


class ValidMessages:
    """Makes messages; fields of records hold one of `record_sets`.

    `given` makes the values of fields, by name (`error_code`) or by path (`topic_data.partition_data.records`).
    """

    def __init__(
        self,
        choices: Choices,
        record_sets: Sequence[bytes],
        *,
        unknown_tags: bool = True,
        given: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._choices = choices
        self._record_sets = record_sets
        self._unknown_tags = unknown_tags
        self._given = given or {}

    def message(self, cls: type[Message], version: int) -> Message:
        """A valid message of one version."""
        made: Message = self._struct(cls, version, "", flexible=cls.is_flexible(version), depth=0)
        return made

    def _struct(self, cls: type[Struct], version: int, prefix: str, *, flexible: bool, depth: int) -> Any:
        values = {
            f.name: self._field(f, version, prefix + f.name, flexible=flexible, depth=depth)
            for f in cls.FIELDS
            if version in f.versions
        }
        made = cls(**values)
        if flexible and self._unknown_tags and self._choices.happens(0.15):
            # A reader refuses a tag that it knows from another version only.
            known = [f.tag for f in cls.FIELDS]
            tags = sorted({self._choices.integer(0, UNKNOWN_TAG_MAX) for _ in range(1 + self._choices.below(2))})
            made.unknown_tags = [(tag, self._choices.data(6)) for tag in tags if tag not in known]
        return made

    def _field(self, f: Field, version: int, path: str, *, flexible: bool, depth: int) -> Any:
        given = self._given.get(path) or self._given.get(f.name)
        if given is not None:
            return given()
        if version in f.tagged and not self._choices.happens(0.6):
            return f.new_default()
        if version in f.nullable and not self._choices.happens(0.8):
            return None
        return self._value(f.type, version, path, flexible=flexible, depth=depth)

    def _value(
        self, field_type: FieldType | type[Struct], version: int, path: str, *, flexible: bool, depth: int
    ) -> Any:
        if isinstance(field_type, FixedType):
            return self._fixed(field_type)
        if isinstance(field_type, SizedType):
            return self._sized(field_type)
        if isinstance(field_type, Array):
            element = field_type.element

            def make() -> Any:
                return self._value(element, version, path, flexible=flexible, depth=depth + 1)

            length_max = VALUES_MAX if isinstance(element, FieldType) else STRUCTS_MAX
            return self._choices.list_of(make, length_max, 0.6 if depth < 2 else 0.35)
        assert isinstance(field_type, type)
        return self._struct(field_type, version, f"{path}.", flexible=flexible, depth=depth)

    def _sized(self, field_type: SizedType) -> Any:
        if field_type is Records:
            return self._choices.one_of(self._record_sets)
        value: str | bytes = self._choices.text(8) if field_type is String else self._choices.data(24)
        # A long value shrinks to the short one before it.
        if value and self._choices.happens(0.1):
            value = value[:1] * self._choices.one_of(_BORDER_LENGTHS)
        return value

    def _fixed(self, field_type: FixedType) -> Any:
        if field_type.name == "bool":
            return self._choices.happens(0.5)
        if field_type.name == "float64":
            return self._choices.real()
        if field_type.name == "uuid":
            return self._choices.data(16, 16) if self._choices.happens(0.8) else field_type.zero
        return self._choices.integer(*_INTEGERS[field_type.name])
