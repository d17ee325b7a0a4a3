"""Sound messages made by chance: what a version of a declaration may carry. The counterpart of Kafka's JSON schemas.

The strategies (`protocol_specs.strategies`) make such messages for Hypothesis, which shrinks them; these are made a
hundred times faster, for campaigns of millions.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.fields import Array, FieldType, FixedType, Records, SizedType, String

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from protocol_specs.message import Field, Message, Struct

UNKNOWN_TAG_MAX: Final = 300
"""The highest unknown tag: its number takes two bytes on the wire."""

_BITS: Final[Mapping[str, int]] = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
_TEXTS: Final = ("", "a", "orders", "topic-7", "группа", "主題", "\U0001f600", "t" * 126, "t" * 127, "t" * 128)
_BINARIES: Final = (b"", b"\0", b"\x00\x01\x00\x00", b"b" * 126, b"b" * 127, b"b" * 128)
_FLOATS: Final = (0.0, 1.5, -1.0, 1e300, float("inf"))


class ValueMaker:
    """Makes messages of the chances of one `random.Random`; records fields hold one of `record_sets`."""

    def __init__(self, chance: Random, record_sets: Sequence[bytes]) -> None:
        self.chance = chance
        self.record_sets = record_sets

    def message(self, cls: type[Message], version: int) -> Message:
        """A sound message of one version."""
        made: Message = self._struct(cls, version, flexible=cls.is_flexible(version), depth=0)
        return made

    def integer(self, bits: int, *, signed: bool) -> int:
        """A number of that width: small ones, ones at the edges, any."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.6:
            return int(chance.random() * 12) - (1 if signed and kind < 0.2 else 0)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if kind < 0.75:
            return (low, low + 1, high - 1, high)[int(chance.random() * 4)]
        return low + chance.getrandbits(bits)

    def binary(self, length_max: int = 24) -> bytes:
        """Some bytes."""
        return self.chance.randbytes(int(self.chance.random() * (length_max + 1)))

    def one_of(self, choices: Sequence[Any]) -> Any:
        """One of several values."""
        return choices[int(self.chance.random() * len(choices))]

    def _struct(self, cls: type[Struct], version: int, *, flexible: bool, depth: int) -> Any:
        values = {
            f.name: self._field(f, version, flexible=flexible, depth=depth) for f in cls.FIELDS if version in f.versions
        }
        made = cls(**values)
        if flexible and self.chance.random() < 0.15:
            known = [f.tag for f in cls.FIELDS]
            tags = sorted({int(self.chance.random() * UNKNOWN_TAG_MAX) for _ in range(2)})
            made.unknown_tags = [(tag, self.binary(6)) for tag in tags if tag not in known]
        return made

    def _field(self, f: Field, version: int, *, flexible: bool, depth: int) -> Any:
        kind = self.chance.random()
        if version in f.nullable and kind < 0.2:
            return None
        if version in f.tagged and kind > 0.6:
            return f.new_default()
        return self._value(f.type, version, flexible=flexible, depth=depth)

    def _value(self, field_type: FieldType | type[Struct], version: int, *, flexible: bool, depth: int) -> Any:
        if isinstance(field_type, FixedType):
            return self._fixed(field_type)
        if isinstance(field_type, SizedType):
            if field_type is Records:
                return self.one_of(self.record_sets)
            simple = self.chance.random() < 0.8
            if field_type is String:
                return self.one_of(_TEXTS[:5] if simple else _TEXTS)
            return self.binary() if simple else self.one_of(_BINARIES)
        if isinstance(field_type, Array):
            element = field_type.element
            count = self._count(depth, leaf=isinstance(element, FieldType))
            return [self._value(element, version, flexible=flexible, depth=depth + 1) for _ in range(count)]
        assert isinstance(field_type, type)
        return self._struct(field_type, version, flexible=flexible, depth=depth)

    def _count(self, depth: int, *, leaf: bool) -> int:
        kind = self.chance.random()
        if kind < 0.2:
            return 0
        if kind < 0.7 or depth > 2:
            return 1
        return 2 if kind < 0.95 or not leaf else 3 + int(self.chance.random() * 30)

    def _fixed(self, field_type: FixedType) -> Any:
        name = field_type.name
        if name == "bool":
            return self.chance.random() < 0.5
        if name == "float64":
            if self.chance.random() < 0.5:
                return self.one_of(_FLOATS)
            return struct.unpack(">d", self.chance.randbytes(8))[0]
        if name == "uuid":
            return self.chance.randbytes(16) if self.chance.random() < 0.8 else field_type.zero
        return self.integer(_BITS[name], signed=not name.startswith("u"))
