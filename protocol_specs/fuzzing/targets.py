"""Targets of a campaign: requests, responses, bare messages and record sets, and how each of them is read.

A request is read as a broker does (FrameReader, header, version gate, body; see SocketServer's Processor), a response
as a client does; a header or a schema by its decoder alone, as a coordinator reads its records.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs import registry
from protocol_specs.errors import UnsupportedVersion
from protocol_specs.framing import FrameReader, decode_request_header, decode_response
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, Message

FRAME_BYTES_MAX: Final = 1024 * 1024
"""The limit of the FrameReader: smaller than a broker's socket.request.max.bytes, so that some frames exceed it."""

_OPTION: Final = "socket.request.max.bytes"


class Route(enum.Enum):
    """How bytes are read."""

    REQUEST = "request frame"
    RESPONSE = "response frame"
    MESSAGE = "message"
    RECORD_SET = "record set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A message in a version, or a record set."""

    route: Route
    cls: type[Message] | None
    version: int

    def __str__(self) -> str:
        return f"{self.cls.__name__} v{self.version}" if self.cls else self.route.value

    @property
    def framed(self) -> bool:
        """True if its bytes begin with the size of a frame."""
        return self.route in {Route.REQUEST, Route.RESPONSE}


class Reading(NamedTuple):
    """A message, and the buffer that it was read from; it ends at the byte `stop`."""

    message: Message
    version: int
    buffer: Buffer
    stop: int


RECORD_SET: Final = Target(route=Route.RECORD_SET, cls=None, version=2)

_ROUTES: Final = {Kind.REQUEST: Route.REQUEST, Kind.RESPONSE: Route.RESPONSE}


def every_target() -> list[Target]:
    """Every declared message at every version, unstable ones too, with a record set after each ten."""
    targets: list[Target] = []
    for cls in registry.every_message():
        route = _ROUTES.get(cls.KIND, Route.MESSAGE)
        for version in cls.VERSIONS:
            targets.append(Target(route=route, cls=cls, version=version))
            if len(targets) % 11 == 10:
                targets.append(RECORD_SET)
    return targets


def read(target: Target, data: bytes) -> list[Reading]:
    """Read the bytes as the target's reader does: nothing is read from an incomplete frame.

    Raises FrameError, MessageDecodeError, UnknownApi and UnsupportedVersion.
    """
    if target.route is Route.REQUEST:
        return [_read_request(frame) for frame in _frames(data)]
    cls, version = target.cls, target.version
    assert cls is not None
    if target.route is Route.RESPONSE:
        return [Reading(decode_response(cls, version, frame)[1], version, frame, len(frame)) for frame in _frames(data)]
    message, stop = cls.decode_from(version, data, 0)
    return [Reading(message, version, data, stop)]


def _frames(data: bytes) -> list[bytes]:
    reader = FrameReader(limit_bytes=FRAME_BYTES_MAX, option=_OPTION)
    # In two pieces, as sockets deliver them.
    half = len(data) >> 1
    frames = reader.receive(data[:half])
    return frames + reader.receive(data[half:])


def _read_request(frame: bytes) -> Reading:
    header, position = decode_request_header(frame)
    cls = registry.request_type(header.request_api_key)
    version = header.request_api_version
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    message, stop = cls.decode_from(version, frame, position)
    return Reading(message, version, frame, stop)
