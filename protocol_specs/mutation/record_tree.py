"""A record set's bytes as a tree of its fields: batches of magic 2, messages of magic 0 and 1, compressed or not.

What cannot be read stays one stretch of bytes, because a record set may end inside of a batch, and because faults are
made of faulty bytes too. Mirrors DefaultRecordBatch, DefaultRecord and LegacyRecord.
"""

from __future__ import annotations

import struct
import zlib
from functools import partial
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import ProtocolError
from protocol_specs.mutation.field_tree import CompressedSection, Framing, Group, LazyGroup, Leaf, Node
from protocol_specs.mutation.sized_nodes import counted, raw_bytes, sized, sized_bytes
from protocol_specs.mutation.wire_lengths import INT32, VARINT, VARLONG, LengthForm
from protocol_specs.records.batch_peek import (
    COMPRESSION_CODEC_MASK,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RECORD_BATCH_OVERHEAD,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, decompress
from protocol_specs.records.record_spans import (
    BATCH_FIELDS,
    DECOMPRESSED_BYTES_MAX,
    MESSAGE_FIELDS,
    TIMESTAMP_FIELD,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_UNREADABLE: Final = (ProtocolError, ValueError, IndexError, struct.error)
_MAGIC_V2: Final = 2


RECORDS_MAX: Final = 50_000
"""How many records and messages the record sets of one tree are taken apart to; what follows stays whole."""


class Budget:
    """What is left to the record sets of one tree: decompressed bytes, and records taken apart."""

    __slots__ = ("bytes_left", "records_left")

    def __init__(self) -> None:
        self.bytes_left = DECOMPRESSED_BYTES_MAX
        self.records_left = RECORDS_MAX

    def take_record(self) -> None:
        """Count one more record; ValueError when there were too many."""
        if self.records_left <= 0:
            raise ValueError(f"more than RECORDS_MAX={RECORDS_MAX} records")
        self.records_left -= 1


def record_set_tree(data: bytes, budget: Budget | None = None, *, nested: bool = False) -> Group:
    """The tree of a record set: `batch[i]` and `message[i]`, with one index over both."""
    budget = Budget() if budget is None else budget
    content = LazyGroup("content", "records", data, lambda group: _entries(group, budget, nested), see_through=True)
    content.holds = ("batch", "message")
    content.build = lambda value: record_set_tree(raw_bytes(value))
    return content


def _entries(group: LazyGroup, budget: Budget, nested: bool) -> list[Node]:  # noqa: FBT001
    return _while_readable(group, group.original, lambda data, position: _entry(data, position, budget, nested=nested))


def _while_readable(
    group: LazyGroup, data: bytes, read: Callable[[bytes, int], tuple[Node, int]], count: int | None = None
) -> list[Node]:
    """Nodes one after another, `count` of them or to the end; what cannot be read, or is left, is one more."""
    made: list[Node] = []
    position = 0
    try:
        while position < len(data) if count is None else len(made) < count:
            node, position = read(data, position)
            made.append(node)
    except _UNREADABLE as error:
        group.unread = str(error)
    if position < len(data):
        made.append(Leaf("rest", "bytes", data[position:]))
    return made


def _entry(data: bytes, position: int, budget: Budget, *, nested: bool) -> tuple[Node, int]:
    left = len(data) - position
    if left < HEADER_SIZE_UP_TO_MAGIC:
        raise ValueError(f"{left} bytes left, an entry begins with {HEADER_SIZE_UP_TO_MAGIC}")
    (length,) = struct.unpack_from(">i", data, position + 8)
    magic = data[position + MAGIC_OFFSET]
    if magic > _MAGIC_V2:
        raise ValueError(f"magic {magic}")
    if not 0 < length <= left - LOG_OVERHEAD:
        raise ValueError(f"length {length}, {left - LOG_OVERHEAD} bytes left")
    stop = position + LOG_OVERHEAD + length
    raw = data[position:stop]
    entry = (
        _batch(raw, budget) if magic == _MAGIC_V2 else _message(raw, budget, with_timestamp=magic == 1, nested=nested)
    )
    return entry.as_element("batch" if magic == _MAGIC_V2 else "message"), stop


def fixed(name: str, type_name: str, code: str, data: bytes) -> Leaf:
    """A value of fixed size outside of any declaration."""
    return Leaf(name, type_name, data, lambda value: fixed(name, type_name, code, struct.pack(f">{code}", value)))


def _fixed_fields(raw: bytes, fields: Iterable[tuple[str, str, str]], crc: Callable[[bytes], int]) -> list[Node]:
    made: list[Node] = []
    position = 0
    for name, type_name, code in fields:
        stop = position + struct.calcsize(f">{code}")
        data = raw[position:stop]
        if len(data) < stop - position:
            raise ValueError(f"it ends inside of {name}")
        if name in {"batch_length", "message_size"}:
            made.append(Framing(name, type_name, data, level="batch_lengths", encode=INT32.write))
        elif name == "crc":
            made.append(Framing(name, type_name, data, level="checksums", encode=_write_crc, measure=crc))
        elif name == "records_count":
            made.append(Framing(name, type_name, data, level="counts", encode=INT32.write, measure=None))
        else:
            made.append(fixed(name, type_name, code, data))
        position = stop
    return made


def _write_crc(value: int) -> bytes:
    return struct.pack(">I", value)


def _batch(raw: bytes, budget: Budget) -> Group:
    children = _fixed_fields(raw, BATCH_FIELDS, crc32c)
    count = children[-1]
    assert isinstance(count, Framing)
    attributes, records_count = struct.unpack_from(">21xh34xi", raw)
    held = raw[RECORD_BATCH_OVERHEAD:]
    section = _section("records", held, attributes & COMPRESSION_CODEC_MASK, budget, records_count)
    count.counted = section
    section.holds = ("record",)
    return Group("", "batch", [*children, section])


def _section(name: str, raw: bytes, codec_id: int, budget: Budget, count: int | None) -> LazyGroup:
    """Records as they are, or behind a codec; None counts no records, but is for a message set inside of a message."""

    def load(group: LazyGroup) -> list[Node]:
        if count is None:
            return _while_readable(group, group.original, partial(_entry, budget=budget, nested=True))
        return _while_readable(group, group.original, partial(_record, budget=budget), count)

    def load_compressed(group: LazyGroup) -> list[Node]:
        try:
            held = decompress(CompressionCodec.for_id(codec_id), group.original, limit_bytes=budget.bytes_left)
        except _UNREADABLE as error:
            group.unread = str(error)
            return []
        budget.bytes_left -= len(held)
        inside = LazyGroup(name, "records", held, load)
        made = inside.children
        group.unread = inside.unread
        return made

    if codec_id == CompressionCodec.NONE:
        return LazyGroup(name, "records", raw, load, see_through=True)
    if codec_id > max(CompressionCodec):
        section = LazyGroup(name, "records", raw, lambda _: [Leaf("rest", "bytes", raw)], see_through=True)
        section.unread = f"codec {codec_id} does not exist"
        return section
    return CompressedSection(name, CompressionCodec(codec_id), raw, load_compressed)


def _record(data: bytes, position: int, budget: Budget) -> tuple[Node, int]:
    budget.take_record()
    length, body = VARINT.read(data, position)
    stop = body + length
    if not 0 < length <= len(data) - body:
        raise ValueError(f"a record has length {length}, {len(data) - body} bytes left")
    return LazyGroup("", "record", data[position:stop], _record_fields).as_element("record"), stop


def _record_fields(group: LazyGroup) -> list[Node]:
    data = group.original
    _, body = VARINT.read(data, 0)
    promise = Framing("length", "varint", data[:body], level="record_lengths", encode=VARINT.write)
    made: list[Node] = [promise, fixed("attributes", "int8", "b", data[body : body + 1])]
    at = body + 1
    try:
        for name, form in (("timestamp_delta", VARLONG), ("offset_delta", VARINT)):
            start = at
            _, at = form.read(data, start)
            made.append(variable(name, form, data[start:at]))
        for name in ("key", "value"):
            field, at = sized_bytes(name, "bytes", VARINT, data, at)
            made.append(field)
        headers, at = _headers(data, at)
        made.append(headers)
    except _UNREADABLE as error:
        group.unread = str(error)
    if at < len(data):
        made.append(Leaf("rest", "bytes", data[at:]))
    return made


def variable(name: str, form: LengthForm, data: bytes) -> Leaf:
    """A number of variable size outside of any declaration."""

    def build(value: object) -> Leaf:
        if not isinstance(value, int):
            raise TypeError(f"{value!r} is no integer")
        return variable(name, form, form.write(value))

    return Leaf(name, form.name, data, build)


def _headers(data: bytes, position: int) -> tuple[Group, int]:
    count, at = VARINT.read(data, position)
    if not 0 <= count <= len(data) - at:
        raise ValueError(f"{count} headers, {len(data) - at} bytes left")
    prefix = data[position:at]
    made: list[Node] = []
    for _ in range(count):
        key, at = sized_bytes("key", "string", VARINT, data, at)
        value, at = sized_bytes("value", "bytes", VARINT, data, at)
        made.append(Group("", "header", [key, value]))
    return counted("header", "[]header", VARINT, prefix, made), at


def _message(raw: bytes, budget: Budget, *, with_timestamp: bool, nested: bool) -> Group:
    budget.take_record()
    fields = (*MESSAGE_FIELDS, TIMESTAMP_FIELD) if with_timestamp else MESSAGE_FIELDS
    children = _fixed_fields(raw, fields, zlib.crc32)
    at = sum(len(child.render()) for child in children)
    codec = raw[MAGIC_OFFSET + 1] & COMPRESSION_CODEC_MASK
    key, at = sized_bytes("key", "bytes", INT32, raw, at)
    value, end = sized_bytes("value", "bytes", INT32, raw, at)
    if codec and not nested and not value.null:
        held = value.children[1].render()
        section = _section("content", held, codec, budget, None)
        section.holds = ("batch", "message")
        value = sized("value", "bytes", INT32, raw[at : at + 4], section)
    children += [key, value]
    if end < len(raw):
        children.append(Leaf("rest", "bytes", raw[end:]))
    return Group("", "message", children)
