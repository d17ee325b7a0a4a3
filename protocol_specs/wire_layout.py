"""The wire layout of one version of a message: each part in order, with its encoding. Mirrors Kafka's Type names.

The encodings are named as Kafka's Schema prints them: `compact nullable string`, `array of ...`. `LEGEND` describes
the bytes of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import UnsupportedVersion
from protocol_specs.fields import Array, FieldType, FixedType
from protocol_specs.layout import header_version, struct_of
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from protocol_specs.message import Field, Message, Struct

_TEXT: Final = "that many bytes of UTF-8"
_DATA: Final = "that many bytes"

LEGEND: Final[Mapping[str, str]] = {
    "bool": "1 byte: 0 is false, anything else is true",
    "int8": "1 byte, signed",
    "int16": "2 bytes, big endian, signed",
    "uint16": "2 bytes, big endian, unsigned",
    "int32": "4 bytes, big endian, signed",
    "uint32": "4 bytes, big endian, unsigned",
    "int64": "8 bytes, big endian, signed",
    "float64": "8 bytes, IEEE 754, big endian",
    "uuid": "16 bytes",
    "uvarint": "1 to 5 bytes, 7 bits in each, the low ones first; the top bit is set if more follow",
    "string": f"int16 length, {_TEXT}",
    "nullable string": f"int16 length (-1 is null), {_TEXT}",
    "compact string": f"uvarint of length + 1, {_TEXT}",
    "compact nullable string": f"uvarint of length + 1 (0 is null), {_TEXT}",
    "bytes": f"int32 length, {_DATA}",
    "nullable bytes": f"int32 length (-1 is null), {_DATA}",
    "compact bytes": f"uvarint of length + 1, {_DATA}",
    "compact nullable bytes": f"uvarint of length + 1 (0 is null), {_DATA}",
    "records": "int32 length, record batches or message sets of that many bytes",
    "nullable records": "int32 length (-1 is null), record batches or message sets of that many bytes",
    "compact records": "uvarint of length + 1, record batches or message sets of that many bytes",
    "compact nullable records": "uvarint of length + 1 (0 is null), record batches or message sets of that many bytes",
    "array": "int32 count, that many elements",
    "nullable array": "int32 count (-1 is null), that many elements",
    "compact array": "uvarint of count + 1, that many elements",
    "compact nullable array": "uvarint of count + 1 (0 is null), that many elements",
    "struct": "its fields, with nothing before them",
    "nullable struct": "int8 (-1 is null, 1 is present), then its fields",
    "tag section": "uvarint count, then for each: uvarint tag, uvarint size, the value; tags ascend",
}
"""The bytes of each encoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WirePart:
    """One part: a field, or the tag section that ends each struct of a flexible version (KIP-482)."""

    name: str
    depth: int
    encoding: str
    element: str | None
    tag: int | None

    @property
    def text(self) -> str:
        """The encoding with its element type: `compact array of int32`."""
        if self.element is None:
            return self.encoding
        return (
            f"{self.encoding} of {self.element}"
            if self.encoding.endswith("array")
            else f"{self.encoding} {self.element}"
        )


TAG_SECTION: Final = "(tags)"
"""The name of the tag section, which is not a field."""

_BEHIND_THEIR_VERSION: Final = (
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "ControlRecordTypeSchema",
    "DefaultPrincipalData",
    "EndTxnMarker",
    "ProducerSnapshot",
)
"""The schemas that Kafka writes with MessageUtil.toVersionPrefixedByteBuffer."""


def wire_parts(cls: type[Message], version: int) -> list[WirePart]:
    """The parts of one version, in the order of their bytes; raise UnsupportedVersion."""
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    return list(_parts(cls, version, flexible=cls.is_flexible(version), depth=0))


def stands_after(cls: type[Message], version: int) -> str | None:
    """The bytes before a message wherever it is written; None if there are none."""
    header = header_version(cls, version)
    if header is not None:
        return f"{cls.KIND.value} header {header}"
    if cls.KIND is Kind.HEADER:
        return "int32 size of the bytes after it"
    if cls.KIND is Kind.COORDINATOR_KEY:
        return f"int16 record type {cls.RECORD_TYPE}"
    if cls.KIND is Kind.METADATA:
        return f"uvarints frame version 1, record type {cls.RECORD_TYPE}, version {version}"
    if cls.KIND is Kind.COORDINATOR_VALUE or cls.__name__ in _BEHIND_THEIR_VERSION:
        return f"int16 version {version}"
    return None


def legend(parts: Sequence[WirePart]) -> list[tuple[str, str]]:
    """The legend of the encodings in these parts, in the order of LEGEND, without plain numbers."""
    named = {name for part in parts for name in (part.encoding, part.element) if name is not None}
    used = {name for name in named if not name.startswith(("int", "uint", "float"))}
    if any(name == "tag section" or name.startswith("compact") for name in used):
        used.add("uvarint")
    return [(name, meaning) for name, meaning in LEGEND.items() if name in used]


def _parts(cls: type[Struct], version: int, *, flexible: bool, depth: int) -> Iterator[WirePart]:
    carried = [f for f in cls.FIELDS if version in f.versions]
    for f in carried:
        if version not in f.tagged:
            yield from _field(f, version, flexible=flexible, depth=depth)
    if flexible:
        yield WirePart(name=TAG_SECTION, depth=depth, encoding="tag section", element=None, tag=None)
        tagged = sorted((f for f in carried if version in f.tagged), key=lambda f: f.tag or 0)
        for f in tagged:
            yield from _field(f, version, flexible=True, depth=depth + 1, tag=f.tag)


def _field(f: Field, version: int, *, flexible: bool, depth: int, tag: int | None = None) -> Iterator[WirePart]:
    flexible = flexible and f.flexible
    encoding, element = _encoding(f, flexible=flexible, nullable=version in f.nullable)
    yield WirePart(name=f.name, depth=depth, encoding=encoding, element=element, tag=tag)
    if (inner := struct_of(f)) is not None:
        yield from _parts(inner, version, flexible=flexible, depth=depth + 1)


def _encoding(f: Field, *, flexible: bool, nullable: bool) -> tuple[str, str | None]:
    null = "nullable " if nullable else ""
    if not isinstance(f.type, FieldType):
        return f"{null}struct", f.type.__name__
    if isinstance(f.type, FixedType):
        return f.type.name, None
    form = f"compact {null}" if flexible else null
    if isinstance(f.type, Array):
        element = f.type.element
        return f"{form}array", _element(element, flexible=flexible)
    return f"{form}{f.type.name}", None


def _element(element: FieldType | type[Struct], *, flexible: bool) -> str:
    if not isinstance(element, FieldType):
        return element.__name__
    return element.name if isinstance(element, FixedType) or not flexible else f"compact {element.name}"
