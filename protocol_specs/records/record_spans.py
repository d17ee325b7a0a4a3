"""The position of each field in a record set: an annotated view of magic 0, 1 and 2, for dumps and mutations.

Mirrors what ByteBufferLogInputStream, DefaultRecord and LegacyRecord read. The walk is slow, tolerant and bounded: it
goes as far as the bytes are readable, and reports its findings. A batch is `batch[i]`, a message of magic 0 or 1 is
`message[i]`; `i` counts both (`message[0].value.message[1]` inside a compressed one). Fields have the names of
BatchHeader; records are `batch[2].record[3].header[0].value`.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from protocol_specs.codec.annotate import SPANS_MAX, Span, annotate_partly
from protocol_specs.errors import CompressionError, MalformedVarint
from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RECORD_BATCH_OVERHEAD,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, decompress
from protocol_specs.records.control_records import ControlRecordType
from protocol_specs.records.varints import decode_varint, decode_varlong
from protocol_specs.utf8 import REPLACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Fields: TypeAlias = tuple[tuple[str, str, str], ...]

DECOMPRESSED_BYTES_MAX: Final = 16 * 1024 * 1024
"""The limit on the total decompressed size of the sections of one call."""

BATCH_FIELDS: Final = (
    ("base_offset", "int64", "q"),
    ("batch_length", "int32", "i"),
    ("partition_leader_epoch", "int32", "i"),
    ("magic", "int8", "b"),
    ("crc", "uint32", "I"),
    ("attributes", "int16", "h"),
    ("last_offset_delta", "int32", "i"),
    ("base_timestamp", "int64", "q"),
    ("max_timestamp", "int64", "q"),
    ("producer_id", "int64", "q"),
    ("producer_epoch", "int16", "h"),
    ("base_sequence", "int32", "i"),
    ("records_count", "int32", "i"),
)
"""The header of a batch of magic 2: name, Kafka's type, code of the `struct` module."""

MESSAGE_FIELDS: Final = (
    ("offset", "int64", "q"),
    ("message_size", "int32", "i"),
    ("crc", "uint32", "I"),
    ("magic", "int8", "b"),
    ("attributes", "int8", "b"),
)
"""The fields before the key of a message of magic 0; magic 1 adds a timestamp."""

TIMESTAMP_FIELD: Final = ("timestamp", "int64", "q")

# The minimum of an entry's length: the fields after it, with a null key and a null value before magic 2.
_LENGTH_MIN: Final[Mapping[int, int]] = {0: 14, 1: 22, 2: RECORD_BATCH_OVERHEAD - LOG_OVERHEAD}
_LENGTH_MIN_OF_ANY: Final = 0
_CONTROL_VALUES: Final[Mapping[ControlRecordType, str]] = {
    ControlRecordType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlRecordType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlRecordType.KRAFT_VOTERS: "VotersRecord",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The text of a broken rule, with the field and the byte.

    `within` is the path of the decompressed span with the byte, as in Span; empty for the buffer itself.
    """

    path: str
    position: int
    reason: str
    within: str = ""

    def __str__(self) -> str:
        inside = f" of the content of {self.within}" if self.within else ""
        return f"{self.path}, byte {self.position}{inside}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSetSpans:
    """A record set's fields in wire order, those inside a compressed section right after it.

    `findings` are broken rules after which a reader can continue: a wrong checksum, an incomplete batch at the end (as
    in Fetch responses), a section that cannot be decompressed or whose records do not fit. `fault` is the place where
    the walk stopped before the end. `left_out` counts spans after the limit; the rest of a compressed section is not
    read then, and a record of it, or the rest of its messages, counts as one.
    """

    spans: list[Span]
    findings: list[Finding]
    fault: Finding | None
    left_out: int


def annotate_record_set(
    data: bytes | memoryview,
    start: int = 0,
    stop: int | None = None,
    path: str = "records",
    base: int = 0,
    *,
    limit: int = SPANS_MAX,
) -> RecordSetSpans:
    """The spans of the record set at `data[start:stop]`, which is the field at `path`; never raises for bytes.

    `base` is the position of `data` in the buffer of the caller, and is added to every position.
    """
    walk = _RecordSetWalk(memoryview(data)[: len(data) if stop is None else stop], start, base, limit)
    fault = None
    try:
        walk.record_set(path)
    except _Stop as error:
        fault = error.finding
    return RecordSetSpans(spans=walk.spans, findings=walk.findings, fault=fault, left_out=walk.left_out)


class _Stop(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


class _Cursor:
    """The bytes of the walk: those of the caller, or those of one decompressed section (`within`)."""

    def __init__(self, data: memoryview, position: int, base: int, within: str) -> None:
        self.data = data
        self.position = position
        self.base = base
        self.within = within


class _RecordSetWalk:
    def __init__(self, data: memoryview, position: int, base: int, limit: int) -> None:
        self.cursor = _Cursor(data, position, base, "")
        self.limit = limit
        self.spans: list[Span] = []
        self.findings: list[Finding] = []
        self.left_out = 0
        self.bytes_left = DECOMPRESSED_BYTES_MAX

    def stop(self, path: str, position: int, reason: str) -> _Stop:
        return _Stop(self.finding(path, position, reason))

    def finding(self, path: str, position: int, reason: str) -> Finding:
        return Finding(path=path, position=position + self.cursor.base, reason=reason, within=self.cursor.within)

    def note(self, path: str, start: int, type_name: str, value: object) -> None:
        if len(self.spans) >= self.limit:
            self.left_out += 1
            return
        base = self.cursor.base
        self.spans.append(
            Span(
                path=path,
                start=start + base,
                stop=self.cursor.position + base,
                type_name=type_name,
                value=value,
                within=self.cursor.within,
            )
        )

    def is_full(self) -> bool:
        """True after the limit of spans: a few compressed bytes can contain records for minutes."""
        return bool(self.cursor.within) and len(self.spans) >= self.limit

    def fixed(self, path: str, type_name: str, code: str, stop: int) -> Any:
        """Read one value of fixed size; None, without a span, if `stop` comes before its end."""
        start = self.cursor.position
        size = struct.calcsize(f">{code}")
        if stop - start < size:
            return None
        (value,) = struct.unpack_from(f">{code}", self.cursor.data, start)
        self.cursor.position += size
        self.note(path, start, type_name, value)
        return value

    def raw(self, path: str, stop: int, type_name: str) -> bytes:
        start = self.cursor.position
        self.cursor.position = stop
        value = bytes(self.cursor.data[start:stop])
        self.note(path, start, type_name, value)
        return value

    def record_set(self, path: str, *, nested: bool = False) -> None:
        cursor = self.cursor
        end, index = len(cursor.data), 0
        while cursor.position < end:
            if self.is_full():
                self.left_out += 1
                return
            start = cursor.position
            magic = cursor.data[start + MAGIC_OFFSET] if end - start >= HEADER_SIZE_UP_TO_MAGIC else None
            kind, fields = ("message", MESSAGE_FIELDS) if magic in {0, 1} else ("batch", BATCH_FIELDS)
            entry = f"{path}.{kind}[{index}]"
            index += 1
            stop = self.entry_stop(entry, start, end, magic, fields)
            if stop is None:
                return
            if magic == 2:
                self.batch(entry, start, stop)
            else:
                self.message(entry, start, stop, with_timestamp=magic == 1, nested=nested)

    def entry_stop(self, path: str, start: int, end: int, magic: int | None, fields: _Fields) -> int | None:
        """The position after the entry; None, with a finding, if the record set ends first."""
        if end - start < LOG_OVERHEAD:
            self.partial(path, end, f"{end - start} bytes left, an entry begins with {LOG_OVERHEAD}", fields)
            return None
        (length,) = struct.unpack_from(">i", self.cursor.data, start + 8)
        length_min = _LENGTH_MIN.get(_LENGTH_MIN_OF_ANY if magic is None else magic, _LENGTH_MIN[_LENGTH_MIN_OF_ANY])
        if length < length_min:
            self.fixed_fields(path, fields[:2], end)
            raise self.stop(f"{path}.{fields[1][0]}", start + 8, f"length {length}, the least is {length_min}")
        if magic is not None and magic not in _LENGTH_MIN:
            self.fixed_fields(path, fields[:4], end)
            raise self.stop(f"{path}.magic", start + MAGIC_OFFSET, f"magic {magic}: only 0, 1 and 2 are known")
        stop: int = start + LOG_OVERHEAD + length
        if stop > end or magic is None:
            reason = f"length {length}, {end - start - LOG_OVERHEAD} bytes left: the record set ends inside of it"
            self.partial(path, end, reason, fields[:2] if magic is None else fields)
            return None
        return stop

    def partial(self, path: str, end: int, reason: str, fields: _Fields) -> None:
        self.findings.append(self.finding(path, self.cursor.position, reason))
        self.fixed_fields(path, fields, end)
        if self.cursor.position < end:
            self.raw(path, end, "partial batch")

    def fixed_fields(self, path: str, fields: _Fields, stop: int) -> dict[str, int]:
        """Read the fields that end before `stop`, by name."""
        found: dict[str, int] = {}
        for name, type_name, code in fields:
            value = self.fixed(f"{path}.{name}", type_name, code, stop)
            if value is None:
                break
            found[name] = value
        return found

    # Magic 2.

    def batch(self, path: str, start: int, stop: int) -> None:
        cursor = self.cursor
        header = self.fixed_fields(path, BATCH_FIELDS, stop)
        computed = crc32c(cursor.data[start + ATTRIBUTES_OFFSET : stop])
        self.check_crc(path, start + 17, header["crc"], computed)
        count, codec = header["records_count"], header["attributes"] & COMPRESSION_CODEC_MASK
        control = bool(header["attributes"] & CONTROL_FLAG_MASK)
        if not codec:
            self.records(path, stop, count, control=control)
            return
        self.compressed(f"{path}.records", stop, codec, lambda end: self.records(path, end, count, control=control))

    def check_crc(self, path: str, position: int, stored: int, computed: int) -> None:
        if stored != computed:
            reason = f"the stored checksum is {stored:#010x}, that of the bytes {computed:#010x}"
            self.findings.append(self.finding(f"{path}.crc", position, reason))

    def compressed(self, path: str, stop: int, codec: int, inside: Callable[[int], None]) -> None:
        """Add a compressed section, then its content, with positions in the decompressed bytes."""
        start = self.cursor.position
        section = self.raw(path, stop, _section_type(codec))
        self.decompressed(path, start, section, codec, inside)

    def decompressed(self, path: str, start: int, section: bytes, codec: int, inside: Callable[[int], None]) -> None:
        try:
            found = decompress(CompressionCodec.for_id(codec), section, limit_bytes=self.bytes_left)
        except CompressionError as error:
            self.findings.append(self.finding(path, start, str(error)))
            return
        self.bytes_left -= len(found)
        self.inside(path, found, inside)

    def inside(self, path: str, data: bytes, walk: Callable[[int], None]) -> None:
        """Walk the content of a span. A fault in it is a finding, because the outer bytes continue."""
        outer = self.cursor
        self.cursor = _Cursor(memoryview(data), 0, 0, path)
        try:
            walk(len(data))
        except _Stop as stop:
            self.findings.append(stop.finding)
        finally:
            self.cursor = outer

    def records(self, path: str, stop: int, count: int, *, control: bool) -> None:
        cursor = self.cursor
        if count < 0:
            raise self.stop(f"{path}.records_count", cursor.position, f"record count {count} is negative")
        for index in range(count):
            if self.is_full():
                self.left_out += count - index
                return
            self.record(f"{path}.record[{index}]", stop, control=control)
        if cursor.position != stop:
            left = stop - cursor.position
            position = cursor.position
            self.raw(f"{path}.records", stop, "bytes after the last record")
            raise self.stop(f"{path}.records", position, f"{left} bytes after the last of {count} records")

    def record(self, path: str, stop: int, *, control: bool) -> None:
        cursor = self.cursor
        start = cursor.position
        length = self.varint(f"{path}.length", "varint", stop)
        if not 0 < length <= stop - cursor.position:
            reason = f"length {length}, {stop - cursor.position} bytes left"
            raise self.stop(f"{path}.length", start, reason)
        body = cursor.position
        end = body + length
        self.fixed(f"{path}.attributes", "int8", "b", end)
        self.varint(f"{path}.timestamp_delta", "varlong", end)
        self.varint(f"{path}.offset_delta", "varint", end)
        key = self.varint_sized(f"{path}.key", end)
        kind = self.control_key(f"{path}.key", key) if control else None
        value = self.varint_sized(f"{path}.value", end)
        if kind is not None and value is not None:
            self.control_value(f"{path}.value", kind, value)
        at = cursor.position
        count = self.varint(f"{path}.header", "varint", end, type_name="[]header")
        if not 0 <= count <= end - cursor.position:
            raise self.stop(f"{path}.header", at, f"{count} headers, {end - cursor.position} bytes left")
        for index in range(count):
            at = cursor.position
            if self.varint_sized(f"{path}.header[{index}].key", end, text=True) is None:
                raise self.stop(f"{path}.header[{index}].key", at, "a header's key is never null")
            self.varint_sized(f"{path}.header[{index}].value", end)
        if cursor.position != end:
            reason = f"length {length}, its fields take {cursor.position - body} bytes"
            raise self.stop(f"{path}.length", start, reason)

    def varint(self, path: str, kind: str, stop: int, *, type_name: str | None = None) -> int:
        start = self.cursor.position
        decode = decode_varlong if kind == "varlong" else decode_varint
        try:
            value, self.cursor.position = decode(self.cursor.data[:stop], start)
        except MalformedVarint as error:
            raise self.stop(path, start, error.reason) from None
        self.note(path, start, type_name or kind, value)
        return value

    def varint_sized(self, path: str, stop: int, *, text: bool = False) -> bytes | None:
        start = self.cursor.position
        try:
            size, content = decode_varint(self.cursor.data[:stop], start)
        except MalformedVarint as error:
            raise self.stop(path, start, error.reason) from None
        return self.content(path, start, content, size, stop, "string" if text else "bytes")

    def content(self, path: str, start: int, content: int, size: int, stop: int, type_name: str) -> bytes | None:
        if size > stop - content:
            raise self.stop(path, start, f"length {size}, {stop - content} bytes left")
        raw = None if size < 0 else bytes(self.cursor.data[content : content + size])
        self.cursor.position = content + max(0, size)
        is_text = raw is not None and type_name == "string"
        self.note(path, start, type_name, str(raw or b"", "utf-8", REPLACE) if is_text else raw)
        return raw

    def control_key(self, path: str, key: bytes | None) -> ControlRecordType | None:
        """Add the content of a control record's key; return its type, None if it is unknown."""
        found: list[int] = []

        def walk(stop: int) -> None:
            for name in ("version", "type"):
                value = self.fixed(f"{path}.{name}", "int16", "h", stop)
                if value is None:
                    raise self.stop(path, 0, f"a control record's key has 4 bytes, this one {stop}")
                found.append(value)

        if key is None:
            return None
        self.inside(path, key, walk)
        if len(found) == 2 and found[1] in ControlRecordType._value2member_map_ and found[1] >= 0:
            return ControlRecordType(found[1])
        return None

    def control_value(self, path: str, kind: ControlRecordType, value: bytes) -> None:
        def marker(stop: int) -> None:
            self.fixed(f"{path}.version", "int16", "h", stop)
            if self.fixed(f"{path}.coordinator_epoch", "int32", "i", stop) is None:
                raise self.stop(path, 0, f"a transaction marker has 6 bytes, this one {stop}")

        def schema(_: int) -> None:
            from protocol_specs.registry import schema_type

            cls = schema_type(_CONTROL_VALUES[kind])
            version = int.from_bytes(value[:2], "big")
            spans, fault = annotate_partly(cls, min(version, cls.VERSIONS.highest), value)
            for span in spans:
                self.cursor.position = span.stop
                self.note(f"{path}.{span.path}", span.start, span.type_name, span.value)
            if fault is not None:
                raise self.stop(f"{path}.{fault.path}", fault.position, fault.reason)

        self.inside(path, value, schema if kind in _CONTROL_VALUES else marker)

    # Magic 0 and 1.

    def message(self, path: str, start: int, stop: int, *, with_timestamp: bool, nested: bool) -> None:
        cursor = self.cursor
        header = self.fixed_fields(path, (*MESSAGE_FIELDS, TIMESTAMP_FIELD)[: 6 if with_timestamp else 5], stop)
        self.check_crc(path, start + LOG_OVERHEAD, header["crc"], zlib.crc32(cursor.data[start + MAGIC_OFFSET : stop]))
        codec = header["attributes"] & COMPRESSION_CODEC_MASK
        self.int32_sized(f"{path}.key", stop, "bytes")
        at = cursor.position
        value = self.int32_sized(f"{path}.value", stop, _section_type(codec) if codec else "bytes")
        if cursor.position != stop:
            position = cursor.position
            self.raw(path, stop, "bytes after the value")
            raise self.stop(path, position, f"{stop - position} bytes after the value")
        if not codec or value is None:
            return
        if nested:
            self.findings.append(self.finding(f"{path}.value", at, "a compressed message inside of a compressed one"))
            return
        self.decompressed(f"{path}.value", at, value, codec, lambda _: self.record_set(f"{path}.value", nested=True))

    def int32_sized(self, path: str, stop: int, type_name: str) -> bytes | None:
        start = self.cursor.position
        if stop - start < 4:
            raise self.stop(path, start, f"4 bytes needed, {stop - start} bytes left")
        (size,) = struct.unpack_from(">i", self.cursor.data, start)
        return self.content(path, start, start + 4, size, stop, type_name)


def _section_type(codec: int) -> str:
    try:
        return f"records, {CompressionCodec.for_id(codec).type_name}"
    except CompressionError:
        return f"records, codec {codec}"
