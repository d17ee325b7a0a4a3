"""The source of an encode function: straight-line Python for one version of a message. Mirrors MessageDataGenerator.

The function appends buffers to a list, which is joined once: a record set goes in by reference, in one piece or many.
"""

from __future__ import annotations

import struct as struct_module
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.runtime import UVARINT, uvarint_bytes, write_tags
from protocol_specs.codec.source_writer import ELEMENT, SHORT_ARRAY, STRING_LIMIT, UUID_SIZE, SourceWriter, identifier
from protocol_specs.fields import Array, Bool, FixedType, SizedType, String, Uuid

if TYPE_CHECKING:
    from protocol_specs.fields import FieldType
    from protocol_specs.message import EncodeFunction, Field, Message, Struct

_SMALL: Final = 0x4000


class EncodeWriter(SourceWriter):
    """Writes `encode(message, parts)`."""

    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(cls, version)
        self.run_format = ""
        self.run_values: list[str] = []
        self.write = "write"
        self.names |= {"UVARINT": UVARINT, "uvarint_bytes": uvarint_bytes, "write_tags": write_tags}

    def make(self) -> EncodeFunction:
        """The function itself."""
        made: EncodeFunction = self.compile("encode", self.source())
        return made

    def source(self) -> str:
        """The source of the function."""
        self.lines.append("def encode(o0, parts):")
        self.line("write = parts.append")
        self.struct(self.cls, "o0")
        return "\n".join(self.lines)

    # A run is a sequence of fixed-size values, and the length after them, written by one pack.

    def add_to_run(self, format_code: str, value: str) -> None:
        """Write one more value of fixed size."""
        self.run_format += format_code
        self.run_values.append(value)

    def flush_run(self) -> None:
        """Write the pack of the run so far."""
        if not self.run_format:
            return
        name = self.bind(f"pack_{identifier(self.run_format)}", struct_module.Struct(f">{self.run_format}").pack)
        self.line(f"{self.write}({name}({', '.join(self.run_values)}))")
        self.run_format, self.run_values = "", []

    def struct(self, cls: type[Struct], source: str) -> None:
        """Write the fields of one struct."""
        plain, tagged, absent = self.carried(cls)
        for f in absent:
            if not f.ignorable:
                self.line(f"if {self.differs(cls, f, f'{source}.{f.name}')}: raise CodecFault('not in this version')")
        for f in plain:
            self.value(f, f.type, f"{source}.{f.name}", flexible=self.flexible and f.flexible)
        self.flush_run()
        if self.flexible:
            self.tags(cls, source, tagged)

    def differs(self, cls: type[Struct], f: Field, value: str) -> str:
        """Source of "this value is not the default"."""
        if isinstance(f.default, list):
            return f"{value} or {value} is None"
        if f.default is None:
            return f"{value} is not None"
        if isinstance(f.default, bool):
            return f"not {value}" if f.default else f"{value} or {value} is None"
        if isinstance(f.default, int | float | str):
            return f"{value} != {f.default!r}"
        default = self.bind(f"default_{cls.__name__}_{f.name}", f.default)
        return f"{value} is not {default} and {value} != {default}"

    def value(self, f: Field, field_type: FieldType | type[Struct], value: str, *, flexible: bool) -> None:
        """Write a value of any type."""
        if isinstance(field_type, FixedType):
            if field_type is Uuid:
                # `struct` would pad or cut values that are not 16 bytes.
                self.line(f"if len({value}) != {UUID_SIZE}: raise CodecFault('uuid')")
            elif field_type is Bool:
                # `struct` would accept any object and write its truth value.
                no_bool = f"{value} is not True and {value} is not False and {value} not in (0, 1)"
                self.line(f"if {no_bool}: raise CodecFault('bool')")
            self.add_to_run(field_type.format, value)
        elif isinstance(field_type, SizedType):
            self.sized(f, field_type, value, flexible=flexible)
        elif isinstance(field_type, Array):
            self.array(f, field_type, value, flexible=flexible)
        else:
            assert isinstance(field_type, type)
            self.nested(f, field_type, value)

    def length(self, format_code: str, name: str, *, flexible: bool) -> None:
        """Write a length or a count; -1 is null."""
        if not flexible:
            self.add_to_run(format_code, name)
            self.flush_run()
            return
        self.flush_run()
        self.line(f"{self.write}(UVARINT[{name} + 1] if {name} < {_SMALL - 1} else uvarint_bytes({name} + 1))")

    def sized(self, f: Field, field_type: SizedType, value: str, *, flexible: bool) -> None:
        """Write a string, bytes or records."""
        data, length = self.fresh("d"), self.fresh("n")
        self.line(f"{data} = {value}")
        if self.is_nullable(f):
            self.line(f"if {data} is None: {length} = -1")
            self.line("else:")
            self.depth += 1
        if field_type is String:
            self.line(f"{data} = {data}.encode(); {length} = len({data})")
            self.line(f"if {length} > {STRING_LIMIT}: raise CodecFault('long')")
        elif field_type.name == "records":
            self.line(f"{length} = sum(map(len, {data})) if isinstance({data}, list) else len({data})")
        else:
            self.line(f"{length} = len({data})")
        if self.is_nullable(f):
            self.depth -= 1
        self.length(field_type.length_format, length, flexible=flexible)
        if field_type.name == "records":
            extend = "parts.extend" if self.write == "write" else f"{self.write.removesuffix('.append')}.extend"
            self.line(f"if isinstance({data}, list): {extend}({data})")
            self.line(f"elif {length} > 0: {self.write}({data})")
        else:
            self.line(f"if {length} > 0: {self.write}({data})")

    def array(self, f: Field, field_type: Array, value: str, *, flexible: bool) -> None:
        """Write an array."""
        items, length = self.fresh("l"), self.fresh("n")
        self.line(f"{items} = {value}")
        if self.is_nullable(f):
            self.line(f"if {items} is None: {length} = -1; {items} = ()")
            self.line(f"else: {length} = len({items})")
        else:
            self.line(f"{length} = len({items})")
        self.length("i", length, flexible=flexible)
        element = field_type.element
        if isinstance(element, FixedType) and element is not Uuid:
            short = [struct_module.Struct(f">{n}{element.format}").pack for n in range(SHORT_ARRAY)]
            table = self.bind(f"short_{identifier(element.format)}", tuple(short))
            pack = self.bind("pack", struct_module.pack)
            self.line(f"if 0 < {length} < {SHORT_ARRAY}: {self.write}({table}[{length}](*{items}))")
            self.line(f"elif {length} > 0: {self.write}({pack}(f'>{{{length}}}{element.format}', *{items}))")
            return
        item = self.fresh("e")
        self.line(f"for {item} in {items}:")
        self.depth += 1
        if isinstance(element, FixedType | SizedType | Array):
            self.value(ELEMENT, element, item, flexible=self.flexible)
            self.flush_run()
        else:
            assert isinstance(element, type)
            before = len(self.lines)
            self.struct(element, item)
            if len(self.lines) == before:
                self.line("pass")
        self.depth -= 1

    def nested(self, f: Field, cls: type[Struct], value: str) -> None:
        """Write a struct that is no array's element: a byte before it is its presence, where it may be null.

        Null is 255, but 0 in a tagged field, where the byte is a varint (MessageDataGenerator writes it so).
        """
        if not self.is_nullable(f):
            self.flush_run()
            inner = self.fresh("o")
            self.line(f"{inner} = {value}")
            self.struct(cls, inner)
            return
        inner = self.fresh("o")
        self.flush_run()
        self.line(f"{inner} = {value}")
        null = "\\0" if self.version in f.tagged else "\\xff"
        self.line(f"if {inner} is None: {self.write}(b'{null}')")
        self.line("else:")
        self.depth += 1
        self.line(f"{self.write}(b'\\x01')")
        self.struct(cls, inner)
        self.depth -= 1

    def tags(self, cls: type[Struct], source: str, tagged: list[Field]) -> None:
        """Write the tag section of a struct: known tags that are not at their default, and unknown ones."""
        if not tagged:
            self.line(f"if {source}.unknown_tags: write_tags({self.write}, [], {source}.unknown_tags)")
            self.line(f"else: {self.write}(b'\\0')")
            return
        known = self.fresh("k")
        self.line(f"{known} = None")
        for f in sorted(tagged, key=_tag_number):
            self.line(f"if {self.differs(cls, f, f'{source}.{f.name}')}:")
            self.depth += 1
            buffers, outer = self.fresh("b"), self.write
            self.line(f"{buffers} = []")
            self.write = f"{buffers}.append"
            self.value(f, f.type, f"{source}.{f.name}", flexible=True)
            self.flush_run()
            self.write = outer
            self.line(f"if {known} is None: {known} = []")
            self.line(f"{known}.append(({f.tag}, {buffers}))")
            self.depth -= 1
        self.line(
            f"if {known} or {source}.unknown_tags: write_tags({self.write}, {known} or [], {source}.unknown_tags)"
        )
        self.line(f"else: {self.write}(b'\\0')")


def _tag_number(f: Field) -> int:
    assert f.tag is not None
    return f.tag
