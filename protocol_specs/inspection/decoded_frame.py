"""One decoded frame or message: spans of its header, its body and its record sets, and every rule that it breaks.

Mirrors RequestHeader.parse and AbstractResponse.parseResponse. Nothing here raises for bytes: bytes that cannot be
read are a fault, bytes that a broker reads but that no correct peer sends are a remark.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.codec.annotate import LEFT_OUT, Span, annotate_partly
from protocol_specs.conformance import deviations
from protocol_specs.errors import CompressionError, MessageDecodeError, UnknownApi, UnsupportedVersion
from protocol_specs.inspection.broken_rules import CUT_BATCH, rule_of
from protocol_specs.message import Kind
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.message import Message
    from protocol_specs.records.record_spans import Finding

SIZE_BYTES: Final = 4
UNSUPPORTED_VERSION: Final = 35
_OF_OURS: Final = ("needs the package", "pass limit_bytes")
_SPANS_OF_RECORDS_MAX: Final = 100_000
"""The limit on spans of record sets per frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """The byte at `position`, of the field at `path`, breaks `rule`; `within` as in Span."""

    path: str
    position: int
    reason: str
    rule: str
    within: str = ""


@dataclass(slots=True, kw_only=True)
class DecodedFrame:
    """The whole `data`, with its size if it is a frame. Positions count from its start; the body begins at `body`.

    `is_read` is true if the body fits its layout; its size or its records may still have faults.
    """

    data: bytes
    kind: Kind | None = None
    cls: type[Message] | None = None
    version: int = 0
    header: Message | None = None
    header_version: int = 0
    body: int = 0
    is_read: bool = False
    spans: list[Span] = field(default_factory=list)
    faults: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def api(self) -> str:
        """Kafka's name of the message; empty when it is not known."""
        return self.cls.NAME if self.cls else ""

    def add(self, path: str, start: int, stop: int, type_name: str, value: object) -> None:
        """Add a span."""
        self.spans.append(Span(path=path, start=start, stop=stop, type_name=type_name, value=value))

    def fault(self, path: str, position: int, reason: str, rule: str | None = None) -> None:
        """Add a fault; by default its rule follows from the reason."""
        rule = rule_of(reason) if rule is None else rule
        self.faults.append(Remark(path=path, position=position, reason=reason, rule=rule))

    def bytes_within(self) -> Callable[[str], bytes]:
        """Return a function that returns the decompressed bytes for the `within` of a span."""
        return _Holders(self).bytes_of


def decode_message(cls: type[Message], version: int, data: bytes) -> DecodedFrame:
    """A message body alone. Raises UnsupportedVersion."""
    frame = DecodedFrame(data=data, kind=cls.KIND, cls=cls, version=version)
    _body(frame, cls, version, 0)
    return frame


def decode_request(data: bytes, forced: tuple[type[Message], int] | None = None) -> DecodedFrame:
    """A request frame with its size: header and body. `forced` replaces the header's API and version."""
    frame = DecodedFrame(data=data, kind=Kind.REQUEST)
    if not _size(frame):
        return frame
    if len(data) < SIZE_BYTES + 4:
        frame.fault("header", len(data), f"4 bytes needed, {len(data) - SIZE_BYTES} bytes left")
        return frame
    api_key, version = struct.unpack_from(">hh", data, SIZE_BYTES)
    if forced is not None:
        api_key, version = forced[0].API_KEY, forced[1]
    try:
        frame.cls = registry.request_type(api_key)
    except UnknownApi as error:
        _header(frame, RequestHeader, 1)
        frame.fault("header.request_api_key", SIZE_BYTES, str(error), "an API key is one of Kafka's (0 to 92)")
        return frame
    frame.version = version
    header_version = request_header_version(frame.cls, min(version, frame.cls.VERSIONS.highest))
    position = _header(frame, RequestHeader, header_version)
    if version not in frame.cls.VERSIONS:
        reason = str(UnsupportedVersion(frame.cls.__name__, version, str(frame.cls.VERSIONS)))
        frame.fault("header.request_api_version", SIZE_BYTES + 2, reason, "a version is one that its API has")
        if position is not None and position < len(data):
            frame.add("body", position, len(data), "bytes of an unknown layout", data[position:])
    elif position is not None:
        _body(frame, frame.cls, version, position)
    return frame


def decode_response(data: bytes, cls: type[Message], version: int) -> DecodedFrame:
    """A response frame with its size, to a request of that API and version.

    An ApiVersions response with error 35 is of version 0 for any version of its request (KIP-511).
    """
    frame = DecodedFrame(data=data, kind=Kind.RESPONSE, cls=cls, version=version)
    if not _size(frame):
        return frame
    error = data[SIZE_BYTES + 4 : SIZE_BYTES + 6]
    if cls.API_KEY == ApiKey.API_VERSIONS and version > 0 and error == struct.pack(">h", UNSUPPORTED_VERSION):
        frame.notes.append(f"version 0, though version {version} was requested: the broker does not have it (KIP-511)")
        frame.version = version = 0
    if version not in cls.VERSIONS:
        frame.add("body", SIZE_BYTES, len(data), "bytes of an unknown layout", data[SIZE_BYTES:])
        frame.fault("", SIZE_BYTES, str(UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))), "")
        return frame
    position = _header(frame, ResponseHeader, response_header_version(cls, version))
    if position is not None:
        _body(frame, cls, version, position)
    return frame


def opaque_frame(data: bytes, kind: Kind | None, note: str) -> DecodedFrame:
    """A frame of unknown layout; `note` is the reason."""
    frame = DecodedFrame(data=data, kind=kind, notes=[note])
    if _size(frame) and len(data) > SIZE_BYTES:
        frame.add("body", SIZE_BYTES, len(data), "bytes of an unknown layout", data[SIZE_BYTES:])
    return frame


def broken_size(data: bytes, kind: Kind | None, limit_bytes: int) -> DecodedFrame:
    """Bytes that do not begin with a valid frame size."""
    frame = DecodedFrame(data=data, kind=kind)
    if len(data) < SIZE_BYTES:
        _size(frame)
        return frame
    (size,) = struct.unpack_from(">i", data)
    frame.add("size", 0, SIZE_BYTES, "int32", size)
    frame.add("body", SIZE_BYTES, len(data), "bytes after an unbelievable size", data[SIZE_BYTES:])
    frame.fault("size", 0, f"size {size}", f"a frame's size is 0 to {limit_bytes} (FRAME_BYTES_MAX)")
    return frame


def _size(frame: DecodedFrame) -> bool:
    data = frame.data
    if len(data) < SIZE_BYTES:
        frame.add("size", 0, len(data), "bytes", data)
        frame.fault("size", len(data), f"4 bytes needed, {len(data)} bytes left")
        return False
    (size,) = struct.unpack_from(">i", data)
    frame.add("size", 0, SIZE_BYTES, "int32", size)
    if size != len(data) - SIZE_BYTES:
        frame.fault("size", 0, f"size {size}, {len(data) - SIZE_BYTES} bytes left")
    return True


def _header(frame: DecodedFrame, cls: type[Message], version: int) -> int | None:
    """Add the header; return the position of the body, None if the header does not fit."""
    spans, fault = annotate_partly(cls, version, frame.data, SIZE_BYTES)
    frame.spans += [replace(span, path=f"header.{span.path}") for span in spans]
    frame.header_version = version
    if fault is not None:
        _raw_rest(frame, "header")
        frame.fault(f"header.{fault.path}", fault.position, fault.reason)
        return None
    frame.header, position = cls.decode_from(version, frame.data, SIZE_BYTES)
    _conformance(frame, cls, version, SIZE_BYTES, prefix="header.", fills=False)
    return position


def _body(frame: DecodedFrame, cls: type[Message], version: int, position: int) -> None:
    frame.body = position
    spans, fault = annotate_partly(cls, version, frame.data, position)
    for span in spans:
        frame.spans.append(span)
        if span.type_name == "records" and span.value:
            _records(frame, span)
    if fault is not None:
        _raw_rest(frame, "body")
        frame.fault(fault.path, fault.position, fault.reason)
        return
    frame.is_read = True
    end = spans[-1].stop if spans else position
    if end < len(frame.data):
        frame.add("", end, len(frame.data), "bytes after the end", frame.data[end:])
    if not spans or spans[-1].type_name != LEFT_OUT:
        _conformance(frame, cls, version, position, prefix="", fills=True)


def _raw_rest(frame: DecodedFrame, path: str) -> None:
    """Add the bytes that no span covers because the walk stopped at a fault."""
    end = frame.spans[-1].stop if frame.spans else 0
    for span in reversed(frame.spans):
        if not span.within:
            end = span.stop
            break
    if end < len(frame.data):
        frame.add(path, end, len(frame.data), "bytes not read", frame.data[end:])


def _records(frame: DecodedFrame, span: Span) -> None:
    from protocol_specs.records.record_spans import annotate_record_set

    assert isinstance(span.value, bytes)
    start = span.stop - len(span.value)
    room = max(0, _SPANS_OF_RECORDS_MAX - len(frame.spans))
    found = annotate_record_set(frame.data, start, span.stop, span.path, limit=room)
    frame.spans += found.spans
    if found.left_out:
        frame.notes.append(f"{span.path}: {found.left_out} more fields of records are not shown")
    for finding in (*found.findings, *([found.fault] if found.fault else [])):
        if _is_no_fault(frame, finding):
            frame.notes.append(f"{finding.path}, byte {finding.position}: {finding.reason}")
            continue
        frame.faults.append(
            Remark(
                path=finding.path,
                position=finding.position,
                reason=finding.reason,
                rule=rule_of(finding.reason),
                within=finding.within,
            )
        )


def _is_no_fault(frame: DecodedFrame, finding: Finding) -> bool:
    """True if a finding is no fault of the bytes: a Fetch response may end inside a batch; limits are ours."""
    if frame.kind is Kind.RESPONSE and CUT_BATCH in finding.reason:
        return True
    return any(words in finding.reason for words in _OF_OURS)


def _conformance(
    frame: DecodedFrame, cls: type[Message], version: int, position: int, *, prefix: str, fills: bool
) -> None:
    try:
        found = deviations(cls, version, frame.data, position, fills=fills)
    except MessageDecodeError as error:
        frame.fault(prefix + error.path, error.position, error.reason)
        return
    for deviation in found:
        frame.remarks.append(
            Remark(
                path=prefix + deviation.path if deviation.path else prefix[:-1],
                position=deviation.position,
                reason=deviation.detail,
                rule=deviation.rule.value,
            )
        )


class _Holders:
    """The content of spans of a frame; the last result is cached, because neighbouring spans share it."""

    def __init__(self, frame: DecodedFrame) -> None:
        self.frame = frame
        self.path = ""
        self.data = b""

    def bytes_of(self, within: str) -> bytes:
        if not within:
            return self.frame.data
        if within != self.path:
            self.path, self.data = within, self.held(within)
        return self.data

    def held(self, path: str) -> bytes:
        for span in self.frame.spans:
            if span.path == path and isinstance(span.value, bytes):
                return _decompressed(span.type_name, span.value)
        return b""


def _decompressed(type_name: str, section: bytes) -> bytes:
    from protocol_specs.records.compression import CompressionCodec, decompress
    from protocol_specs.records.record_spans import DECOMPRESSED_BYTES_MAX

    codec = type_name.partition("records, ")[2]
    if not codec:
        return section
    try:
        named = next(known for known in CompressionCodec if known.type_name == codec)
        return decompress(named, section, limit_bytes=DECOMPRESSED_BYTES_MAX)
    except (StopIteration, CompressionError):
        return b""
