"""Message and version -> straight-line Python functions. Mirrors org.apache.kafka.message.MessageDataGenerator.

Generated code keeps no book of where it is. Neighbouring fields of fixed size, and the length that follows them, are
read by one `struct` call; every length is compared with what is left before it is used. When something does not fit,
the code raises whatever comes naturally and `annotate` walks the same bytes again, slowly, to name the field and the
byte. What a broker accepts is accepted: invalid UTF-8 becomes U+FFFD, a bool is any byte, bytes after the end stay.
"""

from __future__ import annotations

import struct as struct_module
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.runtime import FAULTS, UVARINT, CodecFault, uvarint_bytes, uvarint_tail, write_tags
from protocol_specs.errors import UnsupportedVersion
from protocol_specs.fields import Array, FixedType, SizedType, String

if TYPE_CHECKING:
    from protocol_specs.fields import FieldType
    from protocol_specs.message import Buffer, DecodeFunction, EncodeFunction, Field, Message, Struct

_SMALL: Final = 0x4000
_STRING_LIMIT: Final = 32767
_UUID_SIZE: Final = 16


def decoder_for(cls: type[Message], version: int) -> DecodeFunction:
    """Make the decode function of one version; raise UnsupportedVersion when the message has no such version."""
    _check_version(cls, version)
    generated: DecodeFunction = _DecodeWriter(cls, version).make()

    def decode(data: Buffer, position: int) -> tuple[Any, int]:
        try:
            return generated(data, position)
        except FAULTS as fault:
            from protocol_specs.codec.annotate import locate_decode_fault

            raise locate_decode_fault(cls, version, data, position, fault) from None

    return decode


def encoder_for(cls: type[Message], version: int) -> EncodeFunction:
    """Make the encode function of one version; raise UnsupportedVersion when the message has no such version."""
    _check_version(cls, version)
    generated: EncodeFunction = _EncodeWriter(cls, version).make()

    def encode(message: Message, parts: list[Any]) -> None:
        length_before = len(parts)
        try:
            generated(message, parts)
        except FAULTS as fault:
            del parts[length_before:]
            from protocol_specs.codec.encode_faults import locate_encode_fault

            raise locate_encode_fault(message, version, fault) from None

    return encode


def generated_source(cls: type[Message], version: int) -> tuple[str, str]:
    """The decode and the encode source of one version, to be read by people."""
    _check_version(cls, version)
    return _DecodeWriter(cls, version).source(), _EncodeWriter(cls, version).source()


def _check_version(cls: type[Message], version: int) -> None:
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))


class _Writer:
    """Lines of source with indentation, names that never clash, and the objects that the source refers to."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = cls.is_flexible(version)
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.names: dict[str, Any] = {"CodecFault": CodecFault}

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def bind(self, name: str, value: object) -> str:
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
        return self.version in f.nullable

    def compile(self, name: str, source: str) -> Any:
        code = compile(source, f"<{name} of {self.cls.__name__} v{self.version}>", "exec")
        exec(code, self.names)  # noqa: S102 - the source is made of our own declarations
        return self.names[name]


class _DecodeWriter(_Writer):
    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(cls, version)
        self.run_format = ""
        self.run_targets: list[str] = []
        self.names |= {"uvarint_tail": uvarint_tail, "new": object.__new__}

    def make(self) -> DecodeFunction:
        made: DecodeFunction = self.compile("decode", self.source())
        return made

    def source(self) -> str:
        self.lines.append("def decode(data, pos):")
        self.line("end = len(data)")
        first = len(self.lines)
        target = self.struct(self.cls)
        self.line(f"return {target}, pos")
        if any("= view[" in line for line in self.lines):
            self.lines.insert(first, "    view = memoryview(data)")
        return "\n".join(self.lines)

    # A run is a stretch of fixed-size values read by one unpack.

    def add_to_run(self, format_code: str, target: str) -> None:
        self.run_format += format_code
        self.run_targets.append(target)

    def flush_run(self) -> None:
        if not self.run_format:
            return
        unpacker = struct_module.Struct(f">{self.run_format}")
        name = self.bind(f"unpack_{_identifier(self.run_format)}", unpacker.unpack_from)
        self.line(f"{', '.join(self.run_targets)}, = {name}(data, pos)")
        self.line(f"pos += {unpacker.size}")
        self.run_format, self.run_targets = "", []

    def struct(self, cls: type[Struct]) -> str:
        """Emit the reading of one struct into a new variable, whose name is the answer."""
        target = self.fresh("o")
        class_name = self.bind(f"class_{cls.__name__}", cls)
        self.line(f"{target} = new({class_name})")
        plain, tagged, absent = self.carried(cls)
        for f in (*absent, *tagged):
            self.line(f"{target}.{f.name} = {self.default(cls, f)}")
        for f in plain:
            self.value(f, f.type, f"{target}.{f.name}", flexible=self.flexible and f.flexible)
        self.flush_run()
        self.line(f"{target}.unknown_tags = ()")
        if self.flexible:
            self.tags(target, tagged, [f for f in cls.FIELDS if f.tag is not None and f not in tagged])
        return target

    def default(self, cls: type[Struct], f: Field) -> str:
        if isinstance(f.default, list):
            return "[]"
        if f.default is None or isinstance(f.default, bool | int | float | str):
            return repr(f.default)
        return self.bind(f"default_{cls.__name__}_{f.name}", f.default)

    def value(self, f: Field, field_type: FieldType | type[Struct], target: str, *, flexible: bool) -> None:
        if isinstance(field_type, FixedType):
            self.add_to_run(field_type.format, target)
        elif isinstance(field_type, SizedType):
            length = self.length(field_type.length_format, flexible=flexible)
            self.sized(f, field_type, target, length)
        elif isinstance(field_type, Array):
            length = self.length("i", flexible=flexible)
            self.array(f, field_type, target, length)
        else:
            self.nested(f, field_type, target)  # type: ignore[arg-type]

    def length(self, format_code: str, *, flexible: bool) -> str:
        name = self.fresh("n")
        if not flexible:
            self.add_to_run(format_code, name)
            self.flush_run()
            return name
        self.flush_run()
        self.uvarint(name)
        self.line(f"{name} -= 1")
        return name

    def uvarint(self, name: str) -> None:
        self.line(f"{name} = data[pos]; pos += 1")
        self.line(f"if {name} >= 0x80: {name}, pos = uvarint_tail(data, pos, {name})")

    def null(self, f: Field, length: str, target: str) -> None:
        self.line(f"if {length} < 0:")
        self.line(f"    {target} = None" if self.is_nullable(f) else "    raise CodecFault('null')")

    def sized(self, f: Field, field_type: SizedType, target: str, length: str) -> None:
        self.null(f, length, target)
        self.line("else:")
        self.depth += 1
        stop = self.fresh("s")
        self.line(f"{stop} = pos + {length}")
        self.line(f"if {stop} > end: raise CodecFault('short')")
        if field_type is String:
            self.line(f"if {length} > {_STRING_LIMIT}: raise CodecFault('long')")
            self.line(f"{target} = str(data[pos:{stop}], 'utf-8', 'replace')")
        elif field_type.name == "records":
            self.line(f"{target} = view[pos:{stop}]")
        else:
            self.line(f"{target} = bytes(data[pos:{stop}])")
        self.line(f"pos = {stop}")
        self.depth -= 1

    def array(self, f: Field, field_type: Array, target: str, length: str) -> None:
        self.null(f, length, target)
        self.line("else:")
        self.depth += 1
        # Each element takes at least a byte: a count above what is left is refused before anything is allocated.
        self.line(f"if {length} > end - pos: raise CodecFault('count')")
        element = field_type.element
        if isinstance(element, FixedType):
            stop = self.fresh("s")
            self.line(f"{stop} = pos + {element.size} * {length}")
            self.line(f"if {stop} > end: raise CodecFault('short')")
            if element.size == _UUID_SIZE:
                self.line(f"{target} = [bytes(data[i:i + {_UUID_SIZE}]) for i in range(pos, {stop}, {_UUID_SIZE})]")
            else:
                unpack = self.bind("unpack_from", struct_module.unpack_from)
                self.line(f"{target} = list({unpack}(f'>{{{length}}}{element.format}', data, pos))")
            self.line(f"pos = {stop}")
            self.depth -= 1
            return
        items, append = self.fresh("l"), self.fresh("a")
        self.line(f"{items} = []; {append} = {items}.append")
        self.line(f"for _ in range({length}):")
        self.depth += 1
        if isinstance(element, SizedType | Array):
            item = self.fresh("e")
            self.value(_ELEMENT, element, item, flexible=self.flexible)
            self.flush_run()
        else:
            item = self.struct(element)  # type: ignore[arg-type]
        self.line(f"{append}({item})")
        self.depth -= 1
        self.line(f"{target} = {items}")
        self.depth -= 1

    def nested(self, f: Field, cls: type[Struct], target: str) -> None:
        if not self.is_nullable(f):
            self.flush_run()
            self.line(f"{target} = {self.struct(cls)}")
            return
        present = self.fresh("p")
        self.add_to_run("b", present)
        self.flush_run()
        self.line(f"if {present} < 0:")
        self.line(f"    {target} = None")
        self.line("else:")
        self.depth += 1
        self.line(f"{target} = {self.struct(cls)}")
        self.depth -= 1

    def tags(self, target: str, tagged: list[Field], of_other_versions: list[Field]) -> None:
        count, tag, size, unknown = self.fresh("c"), self.fresh("t"), self.fresh("z"), self.fresh("u")
        self.line(f"{count} = data[pos]; pos += 1")
        self.line(f"if {count}:")
        self.depth += 1
        self.line(f"if {count} >= 0x80: {count}, pos = uvarint_tail(data, pos, {count})")
        self.line(f"{unknown} = []")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.uvarint(tag)
        self.line(f"{tag} &= 0xFFFFFFFF")
        self.uvarint(size)
        keyword = "if"
        for f in tagged:
            self.line(f"{keyword} {tag} == {f.tag}:")
            self.depth += 1
            self.value(f, f.type, f"{target}.{f.name}", flexible=True)
            self.flush_run()
            self.depth -= 1
            keyword = "elif"
        for f in of_other_versions:
            self.line(f"{keyword} {tag} == {f.tag}: raise CodecFault('tag of another version')")
            keyword = "elif"
        if keyword == "elif":
            self.line("else:")
            self.depth += 1
        stop = self.fresh("s")
        self.line(f"{stop} = pos + {size}")
        self.line(f"if {size} < 0 or {stop} > end: raise CodecFault('short')")
        self.line(f"{unknown}.append(({tag}, bytes(data[pos:{stop}])))")
        self.line(f"pos = {stop}")
        if keyword == "elif":
            self.depth -= 1
        self.depth -= 1
        self.line(f"if {unknown}: {target}.unknown_tags = {unknown}")
        self.depth -= 1


class _EncodeWriter(_Writer):
    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(cls, version)
        self.run_format = ""
        self.run_values: list[str] = []
        self.write = "write"
        self.names |= {"UVARINT": UVARINT, "uvarint_bytes": uvarint_bytes, "write_tags": write_tags}

    def make(self) -> EncodeFunction:
        made: EncodeFunction = self.compile("encode", self.source())
        return made

    def source(self) -> str:
        self.lines.append("def encode(o0, parts):")
        self.line("write = parts.append")
        self.struct(self.cls, "o0")
        return "\n".join(self.lines)

    def add_to_run(self, format_code: str, value: str) -> None:
        self.run_format += format_code
        self.run_values.append(value)

    def flush_run(self) -> None:
        if not self.run_format:
            return
        name = self.bind(f"pack_{_identifier(self.run_format)}", struct_module.Struct(f">{self.run_format}").pack)
        self.line(f"{self.write}({name}({', '.join(self.run_values)}))")
        self.run_format, self.run_values = "", []

    def struct(self, cls: type[Struct], source: str) -> None:
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
            return f"not {value}" if f.default else value
        if isinstance(f.default, int | float | str):
            return f"{value} != {f.default!r}"
        default = self.bind(f"default_{cls.__name__}_{f.name}", f.default)
        return f"{value} is not {default} and {value} != {default}"

    def value(self, f: Field, field_type: FieldType | type[Struct], value: str, *, flexible: bool) -> None:
        if isinstance(field_type, FixedType):
            self.add_to_run(field_type.format, value)
        elif isinstance(field_type, SizedType):
            self.sized(f, field_type, value, flexible=flexible)
        elif isinstance(field_type, Array):
            self.array(f, field_type, value, flexible=flexible)
        else:
            self.nested(f, field_type, value)  # type: ignore[arg-type]

    def length(self, format_code: str, name: str, *, flexible: bool) -> None:
        if not flexible:
            self.add_to_run(format_code, name)
            self.flush_run()
            return
        self.flush_run()
        self.line(f"{self.write}(UVARINT[{name} + 1] if {name} < {_SMALL - 1} else uvarint_bytes({name} + 1))")

    def sized(self, f: Field, field_type: SizedType, value: str, *, flexible: bool) -> None:
        data, length = self.fresh("d"), self.fresh("n")
        self.line(f"{data} = {value}")
        if self.is_nullable(f):
            self.line(f"if {data} is None: {length} = -1")
            self.line("else:")
            self.depth += 1
        if field_type is String:
            self.line(f"{data} = {data}.encode(); {length} = len({data})")
            self.line(f"if {length} > {_STRING_LIMIT}: raise CodecFault('long')")
        elif field_type.name == "records":
            self.line(f"{length} = sum(map(len, {data})) if type({data}) is list else len({data})")
        else:
            self.line(f"{length} = len({data})")
        if self.is_nullable(f):
            self.depth -= 1
        self.length(field_type.length_format, length, flexible=flexible)
        if field_type.name == "records":
            extend = "parts.extend" if self.write == "write" else f"{self.write.removesuffix('.append')}.extend"
            self.line(f"if type({data}) is list: {extend}({data})")
            self.line(f"elif {length} > 0: {self.write}({data})")
        else:
            self.line(f"if {length} > 0: {self.write}({data})")

    def array(self, f: Field, field_type: Array, value: str, *, flexible: bool) -> None:
        items, length = self.fresh("l"), self.fresh("n")
        self.line(f"{items} = {value}")
        if self.is_nullable(f):
            self.line(f"if {items} is None: {length} = -1; {items} = ()")
            self.line(f"else: {length} = len({items})")
        else:
            self.line(f"{length} = len({items})")
        self.length("i", length, flexible=flexible)
        element = field_type.element
        if isinstance(element, FixedType) and element.size < _UUID_SIZE:
            pack = self.bind("pack", struct_module.pack)
            self.line(f"if {length} > 0: {self.write}({pack}(f'>{{{length}}}{element.format}', *{items}))")
            return
        item = self.fresh("e")
        self.line(f"for {item} in {items}:")
        self.depth += 1
        if isinstance(element, FixedType | SizedType | Array):
            self.value(_ELEMENT, element, item, flexible=self.flexible)
            self.flush_run()
        else:
            before = len(self.lines)
            self.struct(element, item)  # type: ignore[arg-type]
            if len(self.lines) == before:
                self.line("pass")
        self.depth -= 1

    def nested(self, f: Field, cls: type[Struct], value: str) -> None:
        if not self.is_nullable(f):
            self.flush_run()
            inner = self.fresh("o")
            self.line(f"{inner} = {value}")
            self.struct(cls, inner)
            return
        inner = self.fresh("o")
        self.flush_run()
        self.line(f"{inner} = {value}")
        self.line(f"if {inner} is None: {self.write}(b'\\xff')")
        self.line("else:")
        self.depth += 1
        self.line(f"{self.write}(b'\\x01')")
        self.struct(cls, inner)
        self.depth -= 1

    def tags(self, cls: type[Struct], source: str, tagged: list[Field]) -> None:
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


def _element_field() -> Field:
    from protocol_specs.message import field

    made: Field = field(String)
    return made


_ELEMENT: Final = _element_field()
"""Stands for an array's element where a field is asked for: in every version, never null."""


def _identifier(format_code: str) -> str:
    return format_code.replace("?", "B_")
