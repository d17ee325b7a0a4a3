"""Bytes <-> frames, without I/O: a frame is an int32 size, then that many bytes. Mirrors NetworkReceive.

`FrameReader` receives chunks from a socket and returns whole frames. It checks each size before it allocates anything,
and reads nothing after an invalid size, because frame boundaries are unknown from there on. `encode_request` and
`encode_response` make whole frames with headers; record sets are copied once, by the join. `encode_response_frame` does
not copy large ones.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from protocol_specs.errors import FrameError, FrameTooLarge, MessageDecodeError, NegativeFrameSize
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, Message

_SIZE: Final = struct.Struct(">i")
_KEY_AND_VERSION: Final = struct.Struct(">hh")
_SIZE_AND_HEADER: Final = struct.Struct(">ihhi")
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")

LARGE_FRAME_MIN_BYTES: Final = 64 * 1024
LARGE_PART_MIN_BYTES: Final = 4 * 1024
"""The mean size from which on a system call with many parts costs less than joining them."""

M = TypeVar("M", bound="Message")


class FrameReader:
    """Collects chunks and returns whole frames, without their size. `option` names the setting behind the limit."""

    __slots__ = ("_chunks", "_unread", "fault", "limit_bytes", "missing_bytes", "option")

    def __init__(self, *, limit_bytes: int, option: str) -> None:
        self.limit_bytes = limit_bytes
        self.option = option
        self._chunks: list[bytes | memoryview] = []
        """The received bytes of an unfinished frame, without its size: one join makes the frame, its only copy."""
        self.missing_bytes = 0
        """Bytes that the unfinished frame lacks; 0 if there is none."""
        self._unread = b""
        """Bytes outside a frame: less than a size, or everything after an invalid size."""
        self.fault: FrameError | None = None
        """The error that ended reading; the frames before it are whole."""

    @property
    def buffered_bytes(self) -> int:
        """The number of received bytes of an unfinished frame."""
        return _SIZE.size + sum(map(len, self._chunks)) if self.missing_bytes else len(self._unread)

    def receive(self, data: bytes) -> list[bytes]:
        """Take a chunk and return the frames that it completes.

        Raises:
            FrameTooLarge: A size exceeds the limit; every later call raises it again.
            NegativeFrameSize: A size is negative; every later call raises it again.
        """
        if self.fault is not None:
            raise self.fault
        frames: list[bytes] = []
        position, end = 0, len(data)
        if self.missing_bytes:
            position = self.missing_bytes
            self._chunks.append(data if position >= end else memoryview(data)[:position])
            if position > end:
                self.missing_bytes -= end
                return frames
            frames.append(b"".join(self._chunks))
            self._chunks.clear()
            self.missing_bytes = 0
        elif self._unread:
            data = self._unread + data
            end = len(data)
        limit_bytes = self.limit_bytes
        while end - position >= 4:
            (size,) = _SIZE.unpack_from(data, position)
            if not 0 <= size <= limit_bytes:
                self.fault = NegativeFrameSize(size) if size < 0 else FrameTooLarge(size, limit_bytes, self.option)
                if frames:
                    break
                raise self.fault
            start = position + 4
            position = start + size
            if position > end:
                if start < end:
                    self._chunks.append(memoryview(data)[start:])
                self.missing_bytes = position - end
                position = end
                break
            frames.append(data[start:position])
        self._unread = data[position:]
        return frames


def framed(data: bytes) -> bytes:
    """Prefix bytes with their size."""
    return _SIZE.pack(len(data)) + data


def encode_request(message: Message, version: int, *, correlation_id: int, client_id: str | None) -> bytes:
    """The whole frame of a request. Raises MessageEncodeError."""
    parts: list[Any] = [b"", _end_of_header(request_header_version(type(message), version), client_id)]
    message.encode_into(version, parts)
    parts[0] = _SIZE_AND_HEADER.pack(8 + sum(map(len, parts)), message.API_KEY, version, correlation_id)
    return b"".join(parts)


@lru_cache
def _end_of_header(header_version: int, client_id: str | None) -> bytes:
    """The request header after the correlation id: equal for all requests of a client."""
    header = RequestHeader(request_api_key=0, request_api_version=0, correlation_id=0, client_id=client_id)
    return header.encode(header_version)[8:]


class LargeFrame:
    """A frame of `size` bytes in parts, whose record batches are not copied: they are the log's own bytes."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: list[bytes], size: int) -> None:
        self.parts = parts
        self.size = size

    def __len__(self) -> int:
        return self.size

    def joined(self) -> bytes:
        """The frame as one copy."""
        return b"".join(self.parts)


def encode_response(message: Message, version: int, *, correlation_id: int) -> bytes:
    """The whole frame of a response. Raises MessageEncodeError."""
    return b"".join(_response_parts(message, version, correlation_id)[0])


def encode_response_frame(message: Message, version: int, *, correlation_id: int) -> bytes | LargeFrame:
    """The whole frame of a response; large parts are not copied. Raises MessageEncodeError."""
    parts, size = _response_parts(message, version, correlation_id)
    if size < LARGE_FRAME_MIN_BYTES or size < len(parts) * LARGE_PART_MIN_BYTES:
        return b"".join(parts)
    return LargeFrame(parts, size)


def _response_parts(message: Message, version: int, correlation_id: int) -> tuple[list[Any], int]:
    parts: list[Any] = [b"", b"" if response_header_version(type(message), version) == 0 else b"\0"]
    message.encode_into(version, parts)
    size = 4 + sum(map(len, parts))
    parts[0] = _SIZE_AND_CORRELATION.pack(size, correlation_id)
    return parts, 4 + size


def decode_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """The header of a request frame and the position of its body. Raises UnknownApi and MessageDecodeError."""
    if len(frame) < _KEY_AND_VERSION.size:
        return RequestHeader.decode_from(0, frame, 0)
    return RequestHeader.decode_from(_header_version(*_KEY_AND_VERSION.unpack_from(frame)), frame, 0)


@lru_cache(maxsize=1024)
def _header_version(api_key: int, version: int) -> int:
    return request_header_version(request_type(api_key), version)


def decode_response(response: type[M], version: int, frame: Buffer) -> tuple[int, M]:
    """The correlation id and the message of a response frame. Raises MessageDecodeError."""
    if len(frame) < 4:
        raise MessageDecodeError("ResponseHeader", 0, "correlation_id", 0, f"4 bytes needed, {len(frame)} bytes left")
    (correlation_id,) = _SIZE.unpack_from(frame)
    position = 4
    if response_header_version(response, version) == 1:
        # No release sends tags in this header so far.
        position = 5 if frame[4:5] == b"\0" else ResponseHeader.decode_from(1, frame, 0)[1]
    return correlation_id, response.decode_from(version, frame, position)[0]
