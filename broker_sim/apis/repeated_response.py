"""Responses that a client gets again and again: the bytes after the correlation id are encoded once.

The tails are kept by the functions that use them, each with a limit of its own.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from protocol_specs.framing import encode_response

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import PreparedResponse
    from protocol_specs.message import Message

__all__ = ["FRAMES_MAX", "frame_tail", "frame_with_tail"]

FRAMES_MAX: Final = 10_000
"""Most tails of one API that are kept."""
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")
_SIZE_BYTES: Final = 4


def frame_tail(response: Message, version: int) -> bytes:
    """Return the bytes of a response's frame after the correlation id."""
    return encode_response(response, version, correlation_id=0)[_SIZE_AND_CORRELATION.size :]


def frame_with_tail(correlation_id: int, tail: bytes) -> PreparedResponse:
    """Return the frame of a response with this correlation id."""
    return _SIZE_AND_CORRELATION.pack(_SIZE_BYTES + len(tail), correlation_id) + tail
