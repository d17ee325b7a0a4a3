"""Size-prefixed frames one after the other, as one side of a connection sends them, or both sides mixed.

A frame does not contain its kind. By default it is a response if it can be read whole as the response to an earlier
request of the file, else a request; if the user names an API and a version, it may be their response.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Final

from protocol_specs import registry
from protocol_specs.errors import MessageDecodeError
from protocol_specs.inspection.conversation import Conversation, looks_like_request
from protocol_specs.inspection.decoded_frame import broken_size, decode_request
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.frame_cutter import FRAME_BYTES_MAX
from protocol_specs.message import Kind
from protocol_specs.messages.headers import ResponseHeader, response_header_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.inspection.conversation import SentRequest
    from protocol_specs.inspection.decoded_frame import DecodedFrame
    from protocol_specs.message import Message

_BROKEN_BYTES_SHOWN: Final = 256
_READ_BYTES: Final = 1024 * 1024


class FrameFile:
    """Reads frames and finds their kind, unless the user names the `kind`, or the `api` class with its `version`."""

    def __init__(self, source: str, *, kind: Kind | None, api: str | None, version: int | None) -> None:
        self.source = source
        self.kind = kind
        self.request: tuple[type[Message], int] | None = None
        self.response: tuple[type[Message], int] | None = None
        if api is not None and version is not None:
            self.request = registry.find(api, Kind.REQUEST), version
            self.response = registry.find(api, Kind.RESPONSE), version
        self.conversation = Conversation(self.response)
        if kind is Kind.RESPONSE and self.response is None:
            raise InputError(source, "", "a response has neither API nor version in it: give --api and --version")

    def frames(self, file: IO[bytes]) -> Iterator[tuple[int, DecodedFrame, SentRequest | None]]:
        """Each frame with its offset and, for a response, its request."""
        offset = number = 0
        while data := _read_frame(file):
            number += 1
            frame, request = self.decoded(data, number)
            yield offset, frame, request
            offset += len(data)

    def decoded(self, data: bytes, number: int) -> tuple[DecodedFrame, SentRequest | None]:
        """A decoded frame and, for a response, its request."""
        size = int.from_bytes(data[:4], "big", signed=True)
        if len(data) >= 4 and not 0 <= size <= FRAME_BYTES_MAX:
            return broken_size(data, self.kind, FRAME_BYTES_MAX), None
        if self.is_response(data):
            return self.conversation.response(data)
        if self.request is not None and self.kind is Kind.REQUEST:
            return decode_request(data, self.request), None
        frame = self.conversation.request(data, number, None)
        if self.kind is None and self.response is None and not frame.is_read and not _names_its_client(frame):
            frame.notes.append("read as a request; if it is a response, name its API and version: --api and --version")
        return frame, None

    def is_response(self, data: bytes) -> bool:
        """True if a frame is read as a response."""
        if self.kind is not None:
            return self.kind is Kind.RESPONSE
        if self.conversation.is_response(data):
            request = self.conversation.request_of(data)
            assert request is not None
            return not looks_like_request(data) or _fits(data, registry.response_type(request.api_key), request.version)
        return self.response is not None and not looks_like_request(data)


def _names_its_client(frame: DecodedFrame) -> bool:
    """True if a frame certainly has the header of a request, so that only the bytes after it are broken."""
    client_id = getattr(frame.header, "client_id", None)
    return bool(client_id) and str(client_id).isprintable()


def _fits(data: bytes, cls: type[Message], version: int) -> bool:
    """True if a frame can be read whole as this response."""
    if version not in cls.VERSIONS:
        return False
    try:
        _, position = ResponseHeader.decode_from(response_header_version(cls, version), data, 4)
        return cls.decode_from(version, data, position)[1] == len(data)
    except MessageDecodeError:
        return False


def _read_frame(file: IO[bytes]) -> bytes:
    """A frame with its size, or the rest of one; after an invalid size, the bytes to show."""
    start = _read(file, 4)
    if len(start) < 4:
        return start
    size = int.from_bytes(start, "big", signed=True)
    if 0 <= size <= FRAME_BYTES_MAX:
        return start + _read(file, size)
    broken = start + _read(file, _BROKEN_BYTES_SHOWN)
    while file.read(_READ_BYTES):
        pass
    return broken


def _read(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size and (part := file.read(min(size, _READ_BYTES))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
