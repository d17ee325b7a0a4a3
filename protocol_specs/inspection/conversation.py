"""A client and a broker on one connection: their frames, each response with its request.

Mirrors InFlightRequests and NetworkClient.parseResponse: a response contains neither its API nor its version, only the
correlation id of its request. A Produce with acks 0 has no response. After SaslHandshake v0 the frames of both sides
are bare SASL tokens until the next request.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs import registry
from protocol_specs.errors import ProtocolError
from protocol_specs.inspection.decoded_frame import (
    DecodedFrame,
    broken_size,
    decode_request,
    decode_response,
    opaque_frame,
)
from protocol_specs.inspection.frame_cutter import FRAME_BYTES_MAX, is_request_start
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from protocol_specs.message import Message

OUTSTANDING_MAX: Final = 10_000
"""The limit on remembered requests without a response; the oldest is forgotten first."""

_PRODUCE, _SASL_HANDSHAKE = 0, 17
_SPANS_BEFORE_ACKS_MAX: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request that waits for its response; `number` is the caller's number of it."""

    correlation_id: int
    api_key: int
    version: int
    number: int
    time_ns: int | None


class Conversation:
    """Matches responses with requests. `forced`: the API and version of all other responses."""

    __slots__ = ("_outstanding", "_outstanding_count", "_tokens", "_tokens_expected", "forced")

    def __init__(self, forced: tuple[type[Message], int] | None = None) -> None:
        self.forced = forced
        self._outstanding: dict[int, deque[SentRequest]] = {}
        self._outstanding_count = 0
        self._tokens = False
        self._tokens_expected = 0

    def outstanding_ids(self) -> list[int]:
        """The correlation ids of the outstanding requests, oldest first."""
        return list(self._outstanding)

    def is_response(self, data: bytes) -> bool:
        """True if a frame has the correlation id of an outstanding request."""
        return self.request_of(data) is not None

    def request_of(self, data: bytes) -> SentRequest | None:
        """The outstanding request with the correlation id of this frame."""
        if len(data) < 8:
            return None
        waiting = self._outstanding.get(struct.unpack_from(">i", data, 4)[0])
        return waiting[0] if waiting else None

    def request(self, data: bytes, number: int, time_ns: int | None) -> DecodedFrame:
        """Take a frame of the client, with its size."""
        if _is_broken(data):
            return broken_size(data, Kind.REQUEST, FRAME_BYTES_MAX)
        if self._tokens and not is_request_start(data, 0):
            self._tokens_expected += 1
            return opaque_frame(data, Kind.REQUEST, "a SASL token without header, as after SaslHandshake v0")
        frame = decode_request(data)
        if frame.cls is not None and len(data) >= 12:
            self._remember(frame, number, time_ns)
        return frame

    def response(self, data: bytes) -> tuple[DecodedFrame, SentRequest | None]:
        """Take a frame of the broker, with its size; return it with its request, if that is known."""
        if _is_broken(data):
            return broken_size(data, Kind.RESPONSE, FRAME_BYTES_MAX), None
        sent = self.request_of(data)
        if sent is not None:
            self._forget(sent.correlation_id)
        elif self._tokens_expected:
            self._tokens_expected -= 1
            return opaque_frame(data, Kind.RESPONSE, "a SASL token without header, as after SaslHandshake v0"), None
        if sent is None and self.forced is not None:
            return decode_response(data, *self.forced), None
        if sent is None:
            note = "its request is missing, and a response has neither API nor version in it: give --api and --version"
            return opaque_frame(data, Kind.RESPONSE, note), None
        return decode_response(data, registry.response_type(sent.api_key), sent.version), sent

    def _remember(self, frame: DecodedFrame, number: int, time_ns: int | None) -> None:
        assert frame.cls is not None
        (correlation_id,) = struct.unpack_from(">i", frame.data, 8)
        self._tokens = frame.cls.API_KEY == _SASL_HANDSHAKE and frame.version == 0
        if frame.cls.API_KEY == _PRODUCE and _has_no_response(frame):
            frame.notes.append("acks 0: the broker sends no response")
            return
        if self._outstanding_count == OUTSTANDING_MAX:
            self._forget(next(iter(self._outstanding)))
        sent = SentRequest(
            correlation_id=correlation_id,
            api_key=frame.cls.API_KEY,
            version=frame.version,
            number=number,
            time_ns=time_ns,
        )
        self._outstanding.setdefault(correlation_id, deque()).append(sent)
        self._outstanding_count += 1

    def _forget(self, correlation_id: int) -> None:
        """Take the oldest request with this correlation id off the list."""
        waiting = self._outstanding[correlation_id]
        waiting.popleft()
        self._outstanding_count -= 1
        if not waiting:
            del self._outstanding[correlation_id]


def _is_broken(data: bytes) -> bool:
    return len(data) < 4 or not 0 <= struct.unpack_from(">i", data)[0] <= FRAME_BYTES_MAX


def _has_no_response(frame: DecodedFrame) -> bool:
    return any(span.path == "acks" and span.value == 0 for span in frame.spans[:_SPANS_BEFORE_ACKS_MAX])


def looks_like_request(data: bytes) -> bool:
    """True if a whole frame can be read as a request to its last byte."""
    if not is_request_start(data, 0):
        return False
    from protocol_specs.framing import decode_request_header

    try:
        header, position = decode_request_header(memoryview(data)[4:])
        request = registry.request_type(header.request_api_key)
        _, end = request.decode_from(header.request_api_version, data, position + 4)
    except ProtocolError:
        return False
    return end == len(data)
