"""A whole frame as a tree of fields: its size, its header, its message, and bytes after the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.message import Kind
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from protocol_specs.mutation.field_tree import Framing, Group, Leaf, MutationError, Node
from protocol_specs.mutation.message_tree import message_tree
from protocol_specs.mutation.wire_lengths import INT32

if TYPE_CHECKING:
    from protocol_specs.message import Message

_SIZE_BYTES = 4


def frame_tree(cls: type[Message], version: int, frame: bytes) -> Group:
    """The tree of a frame: `frame_size`, `header`, the message's fields. Raises MessageDecodeError, MutationError."""
    if len(frame) < _SIZE_BYTES:
        raise MutationError("frame_size", f"{len(frame)} bytes: a frame begins with a size of {_SIZE_BYTES}")
    size = Framing("frame_size", "int32", frame[:_SIZE_BYTES], level="frame_size", encode=INT32.write)
    if cls.KIND is Kind.REQUEST:
        header, position = message_tree(
            RequestHeader, request_header_version(cls, version), frame, _SIZE_BYTES, "header"
        )
    else:
        header, position = message_tree(
            ResponseHeader, response_header_version(cls, version), frame, _SIZE_BYTES, "header"
        )
    message, position = message_tree(cls, version, frame, position)
    message.see_through = True
    children: list[Node] = [size, header, message]
    if position < len(frame):
        children.append(Leaf("rest", "bytes", frame[position:]))
    return Group("", f"{cls.__name__} v{version}", children)
