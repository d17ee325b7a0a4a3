"""The parts of messages, frames and record sets, made of the spans that the annotating walks return.

The bytes are read by `codec.annotate` and `records.record_spans`; here their spans become nested parts with promises.
"""

from __future__ import annotations

import copy
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.annotate import LEFT_OUT, Span, annotate_partly, annotate_value
from protocol_specs.codec.places import field_at, varint_stop
from protocol_specs.errors import CompressionError
from protocol_specs.fields import (
    Array,
    Bool,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    SizedType,
    Uint16,
    Uint32,
    Uuid,
)
from protocol_specs.fuzzing.field_map import FieldMap, MutationError, Part, Promise, Scope
from protocol_specs.fuzzing.wire_numbers import COMPACT, INT16, INT32, UINT32, UVARINT, VARINT, VARLONG, NumberForm
from protocol_specs.message import Kind
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, decompress
from protocol_specs.records.record_spans import DECOMPRESSED_BYTES_MAX, annotate_record_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocol_specs.message import Field, Message

FIELDS_MAX: Final = 200_000
"""How many fields of a message, and of a record set, become parts."""

_SIZE_BYTES: Final = 4
_FIXED: Final = {t.name: t for t in (Bool, Int8, Int16, Uint16, Int32, Uint32, Int64, Float64, Uuid)}
_VARINTS: Final = {form.name: form for form in (VARINT, VARLONG)}
_CONTENT: Final = "content"
_RECORD_SET: Final = ("batch", "message")


@dataclass(frozen=True, slots=True)
class Tag:
    """How a tagged field is encoded: its tag, its size, its value; `field` is None for an unknown one."""

    number: int
    field: Field | None


def message_map(cls: type[Message], version: int, data: bytes) -> FieldMap:
    """The map of the message that `data` begins with. Raises MessageDecodeError and MutationError."""
    root = Part("", 0, 0, f"{cls.__name__} v{version}", declared=cls, scope=Scope(cls, version))
    parts = _MessageParts(data, root, Scope(cls, version))
    root.stop = parts.message(0)
    return FieldMap(data[: root.stop], parts.parts)


def frame_map(cls: type[Message], version: int, frame: bytes) -> FieldMap:
    """The map of a whole frame: `frame_size`, `header`, the fields of the message. Raises as `message_map` does."""
    if len(frame) < _SIZE_BYTES:
        raise MutationError("frame_size", f"{len(frame)} bytes: a frame begins with a size of {_SIZE_BYTES}")
    header_cls: type[Message]
    if cls.KIND is Kind.REQUEST:
        header_cls, header_version = RequestHeader, request_header_version(cls, version)
    else:
        header_cls, header_version = ResponseHeader, response_header_version(cls, version)
    root = Part("", 0, len(frame), f"{cls.__name__} v{version}", declared=cls, scope=Scope(cls, version))
    size = Part("frame_size", 0, _SIZE_BYTES, INT32.name, root, INT32)
    size.promise = Promise("frame_size", INT32.write)
    header = Part("header", _SIZE_BYTES, _SIZE_BYTES, header_cls.__name__, root, header_cls)
    header.scope = Scope(header_cls, header_version, "header.")
    header_parts = _MessageParts(frame, header, header.scope)
    header.stop = header_parts.message(_SIZE_BYTES)
    parts = _MessageParts(frame, root, Scope(cls, version))
    parts.parts += [size, *header_parts.parts]
    parts.message(header.stop)
    return FieldMap(frame, parts.parts)


def record_set_map(data: bytes) -> FieldMap:
    """The map of a record set, whose parts are added when a path leads into it."""
    root = Part("", 0, len(data), "records", declared=Records, holds=_RECORD_SET, expand=_add_record_set)
    return FieldMap(data, [root])


def value_parts(part: Part, data: bytes) -> list[Part]:
    """The parts inside `data`, a value that is going to replace the part, at the positions that they will have."""
    assert part.scope is not None
    root = copy.copy(part)
    made = _MessageParts(bytes(part.start) + data, root, part.scope).value(part)
    part.is_null = root.is_null
    for inner in made:
        if inner.parent is root:
            inner.parent = part
        if inner.promise is not None and inner.promise.counted is root:
            inner.promise.counted = part
    return made


def content_part(sized: Part, start: int, size: int) -> Part:
    """The part for new content of a string, bytes or a record set."""
    part = Part(f"{_base_of(sized)}.{_CONTENT}", start, start + size, "bytes", sized, SizedType)
    if sized.type_name == Records.name:
        part.declared, part.holds, part.expand = Records, _RECORD_SET, _add_record_set
    return part


def _base_of(part: Part) -> str:
    """The prefix of the paths inside a part: for the value of a tagged field, the path of the field."""
    outer = part.parent
    return outer.path if outer is not None and isinstance(outer.declared, Tag) else part.path


class _Nested:
    """Spans in wire order as nested parts: each part is in the innermost open one whose base its path continues."""

    def __init__(self, data: bytes, root: Part) -> None:
        self.data = data
        self.parts: list[Part] = [root]
        self.open: list[tuple[Part, str]] = [(root, root.path)]
        self.stop = root.start

    def enter(self, path: str) -> None:
        """Close the parts that `path` is not in, and open the structs that it leads through."""
        while not self.covers(path):
            self.close()
        at = len(self.open[-1][1])
        while (at := path.find(".", at + 1)) > 0:
            self.begin(path[:at], self.struct(path[:at]))

    def covers(self, path: str) -> bool:
        return is_at_or_below(path, self.open[-1][1])

    def close(self) -> None:
        self.open.pop()[0].stop = self.stop

    def close_all(self) -> None:
        while self.open:
            self.close()

    def begin(self, base: str, part: Part) -> Part:
        self.open.append((part, base))
        return part

    def struct(self, path: str) -> Part:
        """A part for the struct or element at a path."""
        return self.add(path, self.stop, self.stop, path.rpartition(".")[2].partition("[")[0])

    def add(self, path: str, start: int, stop: int, type_name: str, declared: Any = None) -> Part:
        """A part in the one that is open; one with an index is an element."""
        part = Part(path, start, stop, type_name, self.open[-1][0], declared)
        part.is_element = part.counts = path.endswith("]")
        self.parts.append(part)
        self.stop = stop
        return part

    def promise(self, path: str, stop: int, form: NumberForm, promise: Promise) -> Part:
        """A length, count or checksum that begins where the part before it ended."""
        part = self.add(path, self.stop, stop, form.name, form)
        part.promise = promise
        return part

    def sized(self, path: str, span: Span, form: NumberForm, content: int, f: Field | None = None) -> Part | None:
        """A length and its content, which is returned unless it is null."""
        part = self.add(path, span.start, span.start, span.type_name, SizedType)
        part.field = f
        part.is_sized, part.is_null = True, span.value is None
        self.begin(path, part)
        self.promise(f"{path}.length", content, form, Promise("lengths", form.write))
        held = None if part.is_null else content_part(part, content, span.stop - content)
        if held is not None:
            self.parts.append(held)
            self.stop = span.stop
        self.close()
        return held


class _MessageParts(_Nested):
    """The parts of one version of a message."""

    def __init__(self, data: bytes, root: Part, scope: Scope) -> None:
        super().__init__(data, root)
        self.scope = scope

    def message(self, position: int) -> int:
        """Add the parts of the message at a position; return the position after it."""
        self.stop = position
        spans, fault = annotate_partly(self.scope.cls, self.scope.version, self.data, position, limit=FIELDS_MAX)
        if fault is not None:
            raise fault
        if spans and spans[-1].type_name == LEFT_OUT:
            raise MutationError(spans[-2].path, f"the message has more than FIELDS_MAX={FIELDS_MAX} fields")
        for span in spans:
            self.span(self.scope.prefix + span.path, span)
        self.close_all()
        return self.stop

    def value(self, part: Part) -> list[Part]:
        """The parts inside a value: a list, a struct or a tagged field."""
        field_type, f, position = part.declared, part.field, part.start
        base = _base_of(part)
        self.open = [(self.parts[0], base)]
        if isinstance(field_type, Tag):
            size_at = varint_stop(self.data, position)
            position = varint_stop(self.data, size_at)
            f = field_type.field
            self.tag_and_size(base, f, size_at, position)
            if f is None:
                self.add(f"{part.path}.data", position, len(self.data), "bytes", SizedType)
                return self.parts[1:]
            field_type = f.type
        scope = self.scope
        spans = annotate_value(scope.cls, scope.version, self.data, position, base, field_type, f)
        for span in spans:
            self.span(span.path, span)
        self.close_all()
        return self.parts[1:]

    def struct(self, path: str) -> Part:
        part = super().struct(path)
        f, declared = self.declared(path)
        part.declared, part.scope, part.field = declared, self.scope, f
        part.type_name = declared.__name__
        return part

    def declared(self, path: str) -> tuple[Field | None, Any]:
        """The declaration of the field or element at a path, and its type."""
        relative = path.removeprefix(self.scope.prefix)
        f = field_at(self.scope.cls, relative.rpartition("[")[0] if relative.endswith("]") else relative)
        assert f is not None
        if not relative.endswith("]"):
            return f, f.type
        assert isinstance(f.type, Array)
        return None, f.type.element

    def span(self, path: str, span: Span) -> None:
        kind = span.type_name
        if kind == "tag count":
            self.tags(path, span)
        elif kind == "tag and size":
            self.tag(path, span)
        elif kind == "tag data":
            self.add(f"{self.open[-1][0].path}.data", span.start, span.stop, "bytes", SizedType)
        else:
            self.enter(path)
            tag = self.open[-1][0].declared
            # The value of a tagged field is a part of its own; the parts inside it have the path of the field.
            own = f"{path}.value" if isinstance(tag, Tag) and self.open[-1][1] == path else path
            self.field(path, own, span)

    def field(self, path: str, own: str, span: Span) -> None:
        kind = span.type_name
        f, declared = self.declared(path)
        flexible = self.scope.flexible and (f is None or f.flexible)
        if kind.startswith("[]"):
            part = self.container(path, own, kind, declared, f)
            part.is_null = span.value is None
            form = COMPACT if flexible else INT32
            self.promise(f"{part.path}.count", span.stop, form, Promise("counts", form.write, counted=part))
        elif kind in {"presence", "tagged presence"}:
            self.container(path, own, declared.__name__, declared, f)
            form_of_presence = UVARINT if kind == "tagged presence" else Int8
            self.add(f"{path}.presence", span.start, span.stop, form_of_presence.name, form_of_presence)
        elif isinstance(declared, SizedType):
            form = COMPACT if flexible else INT16 if declared.length_format == "h" else INT32
            content = varint_stop(self.data, span.start) if flexible else span.start + (2 if form is INT16 else 4)
            self.sized(own, span, form, content, f)
        else:
            self.add(own, span.start, span.stop, kind, declared)

    def container(self, path: str, own: str, type_name: str, declared: Any, f: Field | None) -> Part:
        """The open part of a list or of a struct that may be null: the root when it is a value of it."""
        top, base = self.open[-1]
        if base == path and top is self.parts[0] and top.declared is declared:
            return top
        part = self.begin(path, self.add(own, self.stop, self.stop, type_name, declared))
        part.scope, part.field = self.scope, f
        return part

    def tags(self, path: str, span: Span) -> None:
        """The tag section of a struct: what follows in the struct is in it."""
        struct_path = path.removesuffix("unknown_tags").removesuffix(".")
        self.enter(path)
        section = self.begin(struct_path, self.add(path, span.start, span.start, "tags"))
        section.scope = self.scope
        section.holds = ("unknown_tags",)
        self.promise(f"{path}.count", span.stop, UVARINT, Promise("counts", UVARINT.write, counted=section))

    def tag(self, path: str, span: Span) -> None:
        struct_path = path.rpartition(".")[0]
        while not (self.open[-1][0].type_name == "tags" and self.open[-1][1] == struct_path):
            self.close()
        section = self.open[-1][0]
        assert isinstance(span.value, tuple)
        f = (
            field_at(self.scope.cls, path.removeprefix(self.scope.prefix))
            if not path.endswith("unknown_tags")
            else None
        )
        name = path
        if f is None:
            count = sum(1 for part in self.parts if part.parent is section and part.is_element)
            name = f"{path}[{count}]"
        part = self.begin(path, self.add(name, span.start, span.start, "tag", Tag(span.value[0], f)))
        part.counts, part.scope = True, self.scope
        self.tag_and_size(path, f, varint_stop(self.data, span.start), span.stop)

    def tag_and_size(self, base: str, f: Field | None, size_at: int, stop: int) -> None:
        path = self.open[-1][0].path
        self.add(f"{path}.tag", self.stop, size_at, UVARINT.name, UVARINT)
        self.promise(f"{path}.size", stop, UVARINT, Promise("tag_sizes", UVARINT.write))
        if f is not None and isinstance(f.type, type) and self.scope.version not in f.nullable:
            value = self.begin(base, self.add(f"{path}.value", stop, stop, f.type.__name__, f.type))
            value.scope, value.field = self.scope, f


def _add_record_set(fields: FieldMap, holder: Part) -> None:
    """Add the parts of a record set inside its holder."""
    path = holder.path.removesuffix(_CONTENT).removesuffix(".")
    data = fields.bytes_of(holder)
    found = annotate_record_set(data, path=path, base=holder.start, limit=FIELDS_MAX)
    made = _RecordSetParts(fields.data, holder, path)
    made.spans(found.spans)
    for problem in (*found.findings, *((found.fault,) if found.fault else ())):
        made.explain(problem.path, problem.within, problem.reason)
    if found.left_out:
        holder.unread = f"more than FIELDS_MAX={FIELDS_MAX} fields"
    position = next(index for index, part in enumerate(fields.parts) if part is holder)
    fields.parts[position + 1 : position + 1] = made.parts[1:]


class _RecordSetParts(_Nested):
    """The parts of a record set of magic 0, 1 and 2, or of the decompressed bytes of one batch or message."""

    def __init__(self, data: bytes, root: Part, base: str) -> None:
        super().__init__(data, root)
        self.open = [(root, base)]
        self.sections: dict[str, tuple[str, _RecordSetParts]] = {}
        self.bytes_left = DECOMPRESSED_BYTES_MAX

    def spans(self, spans: Iterable[Span]) -> None:
        """Add the spans of the record set, and those of compressed sections to maps of their own."""
        for span in spans:
            path = span.path.removeprefix(".")
            if not span.within:
                self.span(path, span)
            elif span.within in self.sections:
                prefix, inner = self.sections[span.within]
                inner.span(path.removeprefix(prefix), span)
        self.close_all()
        for _, inner in self.sections.values():
            inner.close_all()

    def explain(self, path: str, within: str, reason: str) -> None:
        """Note why the bytes at a path have no parts, on the part that holds them."""
        if within in self.sections:
            prefix, inner = self.sections[within]
            inner.explain(f"{path.removeprefix('.').removeprefix(prefix)}", "", reason)
            return
        path = path.removeprefix(".")
        holder = max((part for part in self.parts if is_at_or_below(path, part.path)), key=lambda part: len(part.path))
        if not path.endswith(".crc"):
            holder.unread = reason

    def struct(self, path: str) -> Part:
        return self.add(path, self.stop, self.stop, path.rpartition(".")[2].partition("[")[0])

    def span(self, path: str, span: Span) -> None:
        self.enter(path)
        kind, name = span.type_name, path.rpartition(".")[2]
        holder = self.open[-1][0]
        if kind.startswith("records, "):
            self.section(path, span)
        elif kind == "[]header":
            part = self.begin(path, self.add(path, span.start, span.start, kind))
            self.promise(f"{path}.count", span.stop, VARINT, Promise("counts", VARINT.write, counted=part))
        elif kind in {"string", "bytes"}:
            form = VARINT if self.varint_lengths(path) else INT32
            self.sized(path, span, form, varint_stop(self.data, span.start) if form is VARINT else span.start + 4)
        elif kind in _VARINTS and name == "length":
            self.promise(path, span.stop, VARINT, Promise("record_lengths", VARINT.write))
        elif kind in _VARINTS:
            self.add(path, span.start, span.stop, kind, _VARINTS[kind])
        elif kind in _FIXED:
            self.fixed(path, name, holder.type_name, span)
        else:
            if self.open[-1][1] != path and not path.endswith(".records"):
                self.begin(path, self.struct(path))
            self.add(f"{path}.rest", span.start, span.stop, "bytes")

    def fixed(self, path: str, name: str, entry: str, span: Span) -> None:
        if name in {"batch_length", "message_size"}:
            self.promise(path, span.stop, INT32, Promise("batch_lengths", INT32.write))
        elif name == "crc":
            measure = crc32c if entry == "batch" else zlib.crc32
            self.promise(path, span.stop, UINT32, Promise("checksums", UINT32.write, measure))
        elif name == "records_count":
            count = self.promise(path, span.stop, INT32, Promise("counts", INT32.write))
            base = path.rpartition(".")[0]
            section = self.begin(base, self.add(f"{base}.records", span.stop, span.stop, "records"))
            section.holds = ("record",)
            assert count.promise is not None
            count.promise.counted = section
        else:
            self.add(path, span.start, span.stop, span.type_name, _FIXED[span.type_name])

    def varint_lengths(self, path: str) -> bool:
        return not path.rpartition(".")[0].rpartition(".")[2].startswith("message[")

    def section(self, path: str, span: Span) -> None:
        """The compressed records of a batch, or the compressed messages in the value of a message."""
        if self.open[-1][0].type_name == "records":
            part, prefix = self.open[-1][0], f"{path.rpartition('.')[0]}."
            part.stop = self.stop = span.stop
        else:
            content = self.sized(path, span, INT32, span.start + 4)
            if content is None:
                return
            part, prefix = content, f"{path}."
            part.holds = _RECORD_SET
        part.type_name = span.type_name
        codec = _CODECS.get(span.type_name.removeprefix("records, "))
        if codec is None:
            return
        part.codec = codec
        try:
            data = decompress(codec, self.data[part.start : part.stop], limit_bytes=self.bytes_left)
        except CompressionError as error:
            part.unread = str(error)
            return
        self.bytes_left -= len(data)
        inner = _RecordSetParts(data, Part("", 0, len(data), "records", holds=part.holds), "")
        part.inside = FieldMap(data, inner.parts)
        self.sections[span.path] = prefix, inner


def is_at_or_below(path: str, outer: str) -> bool:
    """True if a path is `outer` or leads into it."""
    return path.startswith(outer) and (not outer or path[len(outer) : len(outer) + 1] in {"", ".", "["})


_CODECS: Final = {codec.type_name: codec for codec in CompressionCodec if codec is not CompressionCodec.NONE}
