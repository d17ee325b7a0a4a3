"""Reads the requests of an authentication and makes responses to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from protocol_specs.framing import decode_request_header, encode_response
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from protocol_specs.message import Message


class Frame(NamedTuple):
    """One request."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    request: Message


def request_in(frame: bytes) -> Frame:
    """Read a frame with its size."""
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, position = decode_request_header(frame[4:])
    api_key, version = header.request_api_key, header.request_api_version
    request, _ = request_type(api_key).decode_from(version, frame[4:], position)
    return Frame(api_key, version, header.correlation_id, header.client_id, request)


def response(frame: Frame, message: Message) -> bytes:
    """Return the response without its size."""
    return encode_response(message, frame.version, correlation_id=frame.correlation_id)[4:]
