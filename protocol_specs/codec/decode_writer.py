"""The source of a decode function: straight-line Python for one version of one message. Mirrors MessageDataGenerator.

Two functions are made of the same lines. The strict one takes bytes, which is what frames are, and fails on a string
that is not UTF-8; the general one takes any buffer and replaces what it cannot decode by U+FFFD, as Kafka does.
"""

from __future__ import annotations

import struct as struct_module
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.alike_elements import alike_fields, alike_reader
from protocol_specs.codec.runtime import (
    FAULTS,
    INT32_MAX,
    compact_stretch,
    length_tail,
    unknown_tag,
    unknown_tags,
    uvarint_tail,
)
from protocol_specs.codec.source_writer import ELEMENT, SHORT_ARRAY, STRING_LIMIT, SourceWriter, identifier
from protocol_specs.fields import Array, FixedType, SizedType, String
from protocol_specs.utf8 import REPLACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.fields import FieldType
    from protocol_specs.message import Buffer, DecodeFunction, Field, Message, Struct


COPIED_BYTES_MAX: Final = 512
"""Longer records are slices of one view of the data, which cost less than copies."""


class DecodeWriter(SourceWriter):
    """Writes `decode(data, pos) -> (message, position after it)`."""

    def __init__(self, cls: type[Message], version: int, *, strict: bool) -> None:
        super().__init__(cls, version)
        self.strict = strict
        self.run_format = ""
        self.run_targets: list[str] = []
        self.in_tag = False
        """True if the value is the last one of a tagged field: the message may end after it."""
        self.names |= {
            "compact_stretch": compact_stretch,
            "length_tail": length_tail,
            "FAULTS": FAULTS,
            "new": object.__new__,
            "repeat": repeat,
            "starmap": starmap,
            "unknown_tag": unknown_tag,
            "unknown_tags": unknown_tags,
            "uvarint_tail": uvarint_tail,
        }

    def make(
        self, *, decode_any_buffer: DecodeFunction | None, located: Callable[[Buffer, int, Exception], Exception]
    ) -> DecodeFunction:
        """Write the function: the fall-back of the strict one, and the call that locates a fault."""
        self.names |= {"decode_any_buffer": decode_any_buffer, "located": located}
        made: DecodeFunction = self.compile("decode", self.source())
        return made

    def source(self) -> str:
        """The source of the function."""
        self.lines.append("def decode(data, pos):")
        if self.strict:
            self.line("if type(data) is not bytes: return decode_any_buffer(data, pos)")
        self.line("start, end = pos, len(data)")
        self.line("try:")
        self.depth += 1
        first = len(self.lines)
        target = self.fresh("o")
        self.line(f"{target} = new({self.class_name(self.cls)})")
        self.struct(self.cls, target)
        if any("view :=" in line for line in self.lines):
            self.lines.insert(first, "        view = None")
        self.line(f"return {target}, pos")
        self.depth -= 1
        if self.strict:
            self.line("except UnicodeDecodeError: return decode_any_buffer(data, start)")
        self.line("except FAULTS as fault: raise located(data, start, fault) from None")
        return "\n".join(self.lines)

    def class_name(self, cls: type[Struct]) -> str:
        """The name of a struct's class in the source."""
        return self.bind(f"class_{cls.__name__}", cls)

    # A run is a sequence of fixed-size values, and the length after them, read by one unpack.

    def add_to_run(self, format_code: str, target: str) -> None:
        """Read one more value of fixed size into a target."""
        self.run_format += format_code
        self.run_targets.append(target)

    def flush_run(self) -> None:
        """Write the unpack of the run so far."""
        if not self.run_format:
            return
        if self.run_format == "B":
            self.line(f"{self.run_targets[0]} = data[pos]; pos += 1")
        else:
            unpacker = struct_module.Struct(f">{self.run_format}")
            name = self.bind(f"unpack_{identifier(self.run_format)}", unpacker.unpack_from)
            self.line(f"{', '.join(self.run_targets)}, = {name}(data, pos); pos += {unpacker.size}")
        self.run_format, self.run_targets = "", []

    def struct(self, cls: type[Struct], target: str) -> None:
        """Read the fields of one struct into the object of that name."""
        outer, self.in_tag = self.in_tag, False
        plain, tagged, absent = self.carried(cls)
        for f in (*absent, *tagged):
            self.line(f"{target}.{f.name} = {self.default(cls, f)}")
        for f in plain:
            self.value(f, f.type, f"{target}.{f.name}", flexible=self.flexible and f.flexible)
        if self.flexible:
            self.tags(cls, target, tagged)
        else:
            self.flush_run()
            self.line(f"{target}.unknown_tags = ()")
        self.in_tag = outer

    def default(self, cls: type[Struct], f: Field) -> str:
        """The source of a field's value where it is not on the wire."""
        if isinstance(f.default, list):
            return "[]"
        if f.default is None or isinstance(f.default, bool | int | float | str):
            return repr(f.default)
        return self.bind(f"default_{cls.__name__}_{f.name}", f.default)

    def value(self, f: Field, field_type: FieldType | type[Struct], target: str, *, flexible: bool) -> None:
        """Read a value of any type into a target."""
        if isinstance(field_type, FixedType):
            self.add_to_run(field_type.format, target)
        elif isinstance(field_type, SizedType):
            self.sized(f, field_type, target, flexible=flexible)
        elif isinstance(field_type, Array):
            self.array(f, field_type, target, flexible=flexible)
        else:
            assert isinstance(field_type, type)
            self.nested(f, field_type, target)

    def length(self, format_code: str, *, flexible: bool, limit: int | None = None) -> tuple[str, str]:
        """Read a length; return its name and the source of the correction: a compact length is 1 too large."""
        name = self.fresh("n")
        self.add_to_run("B" if flexible else format_code, name)
        self.flush_run()
        if not flexible:
            return name, ""
        self.line(f"if {name} >= 0x80:")
        self.line(f"    {name}, pos = length_tail(data, pos, {name})")
        if limit is not None:
            self.line(f"    if {name} > {limit + 1}: raise CodecFault('long')")
        return name, " - 1"

    def if_not_null(self, f: Field, length: str, offset: str, target: str) -> bool:
        """Read null. The next lines are for other values, one level deeper if the result is true."""
        null = f"not {length}" if offset else f"{length} < 0"
        if not self.is_nullable(f):
            self.line(f"if {null}: raise CodecFault('null')")
            return False
        self.line(f"if {null}: {target} = None")
        self.line("else:")
        self.depth += 1
        return True

    def sized(self, f: Field, field_type: SizedType, target: str, *, flexible: bool) -> None:
        """Read a string, bytes or records."""
        if flexible and field_type is not String and not self.in_tag:
            self.compact_bytes(f, field_type, target)
            return
        limit = STRING_LIMIT if field_type is String else None
        length, offset = self.length(field_type.length_format, flexible=flexible, limit=limit)
        deeper = self.if_not_null(f, length, offset, target)
        stop = self.fresh("s")
        self.line(f"{stop} = pos + {length}{offset}")
        self.line(f"if {stop} > end: raise CodecFault('short')")
        if field_type is not String:
            self.line(f"{target} = {self.slice_of(field_type, 'pos', stop)}")
        elif self.strict:
            self.line(f"{target} = data[pos:{stop}].decode()")
        else:
            self.line(f"{target} = str(data[pos:{stop}], 'utf-8', '{REPLACE}')")
        self.line(f"pos = {stop}")
        self.depth -= deeper

    def compact_bytes(self, f: Field, field_type: SizedType, target: str) -> None:
        """Read bytes or records, most of which need a length of two bytes: both are read at once.

        There is always a second byte, because a tag section follows. Reading that section fails if the bytes end before
        it, so that nothing is compared here; a slice never exceeds the data.
        """
        length, second, stop = self.fresh("n"), self.fresh("b"), self.fresh("s")
        self.add_to_run("B", length)
        self.add_to_run("B", second)
        self.flush_run()
        self.line(f"if {length} >= 0x80 > {second} > 0:")
        self.line(f"    {stop} = pos + {length} + ({second} << 7) - 129")
        self.line(f"    {target} = {self.slice_of(field_type, 'pos', stop)}; pos = {stop}")
        self.line(f"elif 0 < {length} < 0x80:")
        self.line(f"    {stop} = pos + {length} - 2")
        self.line(f"    {target} = {self.slice_of(field_type, 'pos - 1', stop)}; pos = {stop}")
        self.line("else:")
        self.depth += 1
        self.line(f"pos, {stop} = compact_stretch(data, pos - 1, {length})")
        null = f"{target} = None" if self.is_nullable(f) else "raise CodecFault('null')"
        self.line(f"if {stop} < pos: {null}")
        self.line(f"else: {target} = {self.slice_of(field_type, 'pos', stop)}; pos = {stop}")
        self.depth -= 1

    def slice_of(self, field_type: SizedType, start: str, stop: str) -> str:
        """The source of a stretch of the data: a copy of bytes and of short records, a view of longer ones."""
        if field_type.name == "records":
            # The slices of a message share one view. Most messages with one partition need none.
            view = f"(view if view is not None else (view := memoryview(data)))[{start}:{stop}]"
            short = f"data[{start}:{stop}] if {stop} - {start} <= {COPIED_BYTES_MAX} else "
            return short + view if self.strict else view
        return f"data[{start}:{stop}]" if self.strict else f"bytes(data[{start}:{stop}])"

    def array(self, f: Field, field_type: Array, target: str, *, flexible: bool) -> None:
        """Read an array: its count is compared with what is left before anything is allocated for it."""
        length, offset = self.length("i", flexible=flexible)
        deeper = self.if_not_null(f, length, offset, target)
        element = field_type.element
        if isinstance(element, FixedType):
            self.array_of_fixed(element, target, length, offset)
        elif isinstance(element, type):
            self.array_of_structs(element, target, length, offset)
        else:
            self.check_count(length, offset, self.size_min(element, flexible=self.flexible))
            items, append, item = self.fresh("l"), self.fresh("a"), self.fresh("e")
            self.line(f"{target} = {items} = []; {append} = {items}.append")
            self.line(f"for _ in range({length}{offset}):")
            self.depth += 1
            self.value(ELEMENT, element, item, flexible=self.flexible)
            self.flush_run()
            self.line(f"{append}({item})")
            self.depth -= 1
        self.depth -= deeper

    def check_count(self, length: str, offset: str, size_min: int) -> None:
        """Refuse a count that the bytes left cannot hold."""
        count = f"({length}{offset}) * {size_min}" if size_min > 1 else f"{length}{offset}"
        self.line(f"if {count} > end - pos: raise CodecFault('count')")

    def array_of_fixed(self, element: FixedType, target: str, length: str, offset: str) -> None:
        """Read an array of values of fixed size by one unpack."""
        short = [struct_module.Struct(f">{element.format * n}").unpack_from for n in range(SHORT_ARRAY)]
        table = self.bind(f"short_{identifier(element.format)}", tuple(short))
        count = self.fresh("c") if offset else length
        if offset:
            self.line(f"{count} = {length}{offset}")
        self.line(f"if {count} < {SHORT_ARRAY}: {target} = [*{table}[{count}](data, pos)]")
        self.line("else:")
        self.depth += 1
        self.check_count(count, "", element.size)
        unpack = self.bind("unpack_from", struct_module.unpack_from)
        if len(element.format) == 1:
            self.line(f"{target} = [*{unpack}(f'>{{{count}}}{element.format}', data, pos)]")
        else:
            self.line(f"{target} = [*{unpack}('>' + '{element.format}' * {count}, data, pos)]")
        self.depth -= 1
        self.line(f"pos += {element.size} * {count}")

    def array_of_structs(self, element: type[Struct], target: str, length: str, offset: str) -> None:
        """Read an array of structs: all objects are made at once, then filled one by one."""
        items, item = self.fresh("l"), self.fresh("o")
        self.line(f"if {length} == {1 if offset else 0}: {target} = []")
        self.line("else:")
        self.depth += 1
        self.check_count(length, offset, self.size_min(element, flexible=self.flexible))
        name = self.class_name(element)
        self.line(f"if {length} == {2 if offset else 1}: {target} = {items} = [new({name})]")
        self.line(f"else: {target} = {items} = [*starmap(new, repeat(({name},), {length}{offset}))]")
        deeper = self.alike_elements(element, items, length)
        self.line(f"for {item} in {items}:")
        self.depth += 1
        self.struct(element, item)
        self.depth -= 2 + deeper

    def alike_elements(self, element: type[Struct], items: str, length: str) -> bool:
        """Read elements of equal size, where the array has them; on true, the next lines are for others."""
        plain, tagged, absent = self.carried(element)
        fields = alike_fields(plain)
        if fields is None or not (self.strict and self.flexible):
            return False
        before, sized, after = fields
        formats = ["".join(f.type.format for f in part if isinstance(f.type, FixedType)) for part in (before, after)]
        reader = self.bind(f"alike_{'_'.join(map(identifier, formats))}", alike_reader(*formats))
        stop, values, item = self.fresh("s"), self.fresh("v"), self.fresh("o")
        self.line(f"{stop} = 0")
        self.line(f"if {length} > 2: {stop}, {values} = {reader}(data, pos, end, {length} - 1)")
        self.line(f"if {stop}:")
        self.depth += 1
        targets = ", ".join(f"{item}.{f.name}" for f in (*before, sized, *after))
        sources = ", ".join([items, *[values] * len(plain)])
        self.line(f"for {item}, {targets} in zip({sources}):")
        for f in (*absent, *tagged):
            self.line(f"    {item}.{f.name} = {self.default(element, f)}")
        self.line(f"    {item}.unknown_tags = ()")
        self.line(f"pos = {stop}")
        self.depth -= 1
        self.line("else:")
        self.depth += 1
        return True

    def nested(self, f: Field, cls: type[Struct], target: str) -> None:
        """Read a struct that is no array's element, with its presence before it where it may be null.

        The presence is a byte, negative for null; in a tagged field it is a varint, 0 for null.
        """
        item = self.fresh("o")
        if not self.is_nullable(f):
            self.flush_run()
            self.line(f"{target} = {item} = new({self.class_name(cls)})")
            self.struct(cls, item)
            return
        present = self.fresh("p")
        if self.in_tag:
            self.varint(present)
            self.line(f"if {present} <= 0: {target} = None")
        else:
            self.add_to_run("b", present)
            self.flush_run()
            self.line(f"if {present} < 0: {target} = None")
        self.line("else:")
        self.depth += 1
        self.line(f"{target} = {item} = new({self.class_name(cls)})")
        self.struct(cls, item)
        self.depth -= 1

    def tags(self, cls: type[Struct], target: str, tagged: list[Field]) -> None:
        """Read the tag section of a struct, which is nearly always empty."""
        others = tuple(f.tag for f in cls.FIELDS if f.tag is not None and f not in tagged)
        self.line(f"{target}.unknown_tags = ()")
        if self.run_format:
            count = self.fresh("c")
            self.add_to_run("B", count)
            self.flush_run()
            self.line(f"if {count}:")
            self.line("    pos -= 1")
        else:
            self.line("if not data[pos]: pos += 1")
            self.line("else:")
        self.depth += 1
        if tagged:
            self.known_tags(target, tagged, others)
        else:
            self.line(f"{target}.unknown_tags, pos = unknown_tags(data, pos, {others})")
        self.depth -= 1

    def known_tags(self, target: str, tagged: list[Field], others: tuple[int, ...]) -> None:
        """Read a tag section that is not empty, of a struct with declared tags."""
        unknown, count, tag, size = (self.fresh(prefix) for prefix in ("u", "c", "t", "z"))
        self.line(f"{target}.unknown_tags = {unknown} = []")
        self.varint(count)
        self.line(f"for _ in range({count} if {count} <= {INT32_MAX} else 0):")
        self.depth += 1
        self.varint(tag)
        self.varint(size)
        keyword = "if"
        for f in tagged:
            self.line(f"{keyword} {tag} == {f.tag}:")
            self.depth += 1
            self.in_tag = True
            self.value(f, f.type, f"{target}.{f.name}", flexible=True)
            self.flush_run()
            self.in_tag = False
            self.depth -= 1
            keyword = "elif"
        self.line(f"else: pos = unknown_tag(data, pos, {tag}, {size}, {others}, {unknown})")
        self.depth -= 1

    def varint(self, name: str) -> None:
        """Read an unsigned varint."""
        self.line(f"{name} = data[pos]; pos += 1")
        self.line(f"if {name} >= 0x80: {name}, pos = uvarint_tail(data, pos, {name})")
