"""Base of the writers of decode and encode source: lines, names, and the fields of a version."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.runtime import CodecFault
from protocol_specs.fields import Array, FixedType, SizedType, String
from protocol_specs.message import field

if TYPE_CHECKING:
    from protocol_specs.fields import FieldType
    from protocol_specs.message import Field, Message, Struct

STRING_LIMIT: Final = 32767
UUID_SIZE: Final = 16

SHORT_ARRAY: Final = 16
"""An array of numbers with fewer elements than this has a `struct` call made beforehand."""

ELEMENT: Final[Field] = field(String)
"""The field of an array's element: in every version, never null."""


class SourceWriter:
    """Lines of source with indentation, unique names, and the objects that the source refers to."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = cls.is_flexible(version)
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.names: dict[str, Any] = {"CodecFault": CodecFault}

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def fresh(self, prefix: str) -> str:
        """A name that is not used yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def bind(self, name: str, value: object) -> str:
        """Let the source refer to an object by this name."""
        self.names[name] = value
        return name

    def carried(self, struct: type[Struct]) -> tuple[list[Field], list[Field], list[Field]]:
        """The fields of a struct in this version: plain ones, tagged ones, absent ones."""
        plain, tagged, absent = [], [], []
        for f in struct.FIELDS:
            if self.version not in f.versions:
                absent.append(f)
            elif self.version in f.tagged:
                tagged.append(f)
            else:
                plain.append(f)
        return plain, tagged, absent

    def is_nullable(self, f: Field) -> bool:
        """True if None is allowed in this version."""
        return self.version in f.nullable

    def size_min(self, field_type: FieldType | type[Struct], *, flexible: bool) -> int:
        """The minimum size in bytes of a value that is not null."""
        if isinstance(field_type, FixedType):
            return field_type.size
        if isinstance(field_type, SizedType):
            return 1 if flexible else struct.calcsize(field_type.length_format)
        if isinstance(field_type, Array):
            return 1 if flexible else 4
        assert isinstance(field_type, type)
        plain, _, _ = self.carried(field_type)
        sizes = [
            1 if self.is_nullable(f) and isinstance(f.type, type) else self.size_min(f.type, flexible=flexible)
            for f in plain
        ]
        return sum(sizes) + (1 if flexible else 0)

    def compile(self, name: str, source: str) -> Any:
        """Run the source and return its function of this name."""
        code = compile(source, f"<{name} of {self.cls.__name__} v{self.version}>", "exec")
        exec(code, self.names)  # noqa: S102 - the source is made of our own declarations
        return self.names[name]


def identifier(format_code: str) -> str:
    """A format of the `struct` module as a part of a name."""
    return format_code.replace("?", "B_")
