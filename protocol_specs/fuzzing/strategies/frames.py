"""Strategies for whole request frames, size included: valid ones and broken ones. Mirrors NetworkReceive.

`refused` is True if a broker closes the connection instead of responding, as SocketServer does when it cannot read a
request. Values that a broker rejects with an error code (an unknown topic, acks of 7) are valid here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import framed
from protocol_specs.fuzzing.rules import shown
from protocol_specs.fuzzing.strategies.drawn_choices import DrawnChoices
from protocol_specs.fuzzing.strategies.messages import broken, message
from protocol_specs.messages.headers import RequestHeader, request_header_version

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.message import Message
    from protocol_specs.version_range import VersionRange

REQUEST_BYTES_MAX: Final = 100 * 1024 * 1024
"""The default of socket.request.max.bytes."""

_INT16_MAX: Final = 2**15 - 1
_INT32_MAX: Final = 2**31 - 1
_UNKNOWN_API_KEY_MIN: Final = 1000
_NO_SUCH_VERSION: Final = "the API has no such version"
_NEGATIVE_CLIENT_ID: Final = "the client id is null by a length that is not -1"


class Frame(NamedTuple):
    """A frame with its size. `rule` is the one that it breaks, empty if it is valid."""

    data: bytes
    rule: str
    refused: bool

    def __repr__(self) -> str:
        return f"Frame({shown(self.data)}, {self.rule!r}, refused={self.refused})"


def frames(
    *, versions: Mapping[int, VersionRange] | None = None, limit_bytes: int = REQUEST_BYTES_MAX
) -> SearchStrategy[Frame]:
    """Draw valid and broken request frames.

    `versions` are those that the broker serves, by API key; all declared ones if not given. `limit_bytes` is its
    socket.request.max.bytes.
    """
    return request_frames(versions=versions) | broken_frames(versions=versions, limit_bytes=limit_bytes)


@st.composite
def request_frames(draw: DrawFn, *, versions: Mapping[int, VersionRange] | None = None) -> Frame:
    """Draw valid request frames."""
    valid = _request(draw, versions)
    return Frame(framed(valid.header + valid.body), "", refused=False)


@st.composite
def broken_frames(
    draw: DrawFn,
    *,
    versions: Mapping[int, VersionRange] | None = None,
    limit_bytes: int = REQUEST_BYTES_MAX,
    rules: Collection[str] | None = None,
) -> Frame:
    """Draw request frames with one rule broken, any or one of these names: in the body, the size or the header."""
    valid = _request(draw, versions)
    of_header = [rule for rule in HEADER_RULES if rules is None or rule in rules]
    if not of_header or ((rules is None or len(rules) > len(of_header)) and draw(st.booleans())):
        data, rule, refused = broken(draw, valid.cls, valid.version, valid.body, rules=rules)
        return Frame(framed(valid.header + data), rule, refused)
    rule = draw(st.sampled_from(of_header))
    # Brokers respond to ApiVersions of any version: in version 0, with the versions that they serve (KIP-511).
    served = rule == _NEGATIVE_CLIENT_ID or (rule == _NO_SUCH_VERSION and valid.cls.API_KEY == ApiKey.API_VERSIONS)
    return Frame(_BREAKERS[rule](DrawnChoices(draw), valid, limit_bytes), rule, refused=not served)


def draw_request_type(
    draw: DrawFn, versions: Mapping[int, VersionRange] | None
) -> tuple[type[Message], int, VersionRange]:
    """Draw a request class, a version of it, and the range of versions that are served."""
    cls = registry.request_type(draw(st.sampled_from([key for key in ApiKey if versions is None or key in versions])))
    served = cls.VERSIONS if versions is None else cls.VERSIONS.intersection(versions[cls.API_KEY])
    return cls, draw(st.integers(served.lowest, served.highest)), served


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A valid request: `version_highest` is the highest that the broker serves."""

    cls: type[Message]
    version: int
    version_highest: int
    header: bytes
    body: bytes


def _request(draw: DrawFn, versions: Mapping[int, VersionRange] | None) -> _Request:
    cls, version, served = draw_request_type(draw, versions)
    header_version = request_header_version(cls, version)
    values = {"request_api_key": st.just(cls.API_KEY), "request_api_version": st.just(version)}
    header = draw(message(RequestHeader, header_version, values=values)).encode(header_version)
    body = draw(message(cls, version)).encode(version)
    return _Request(cls=cls, version=version, version_highest=served.highest, header=header, body=body)


def _sized(choices: Choices, low: int, high: int) -> bytes:
    return struct.pack(">i", choices.integer(low, high))


def _unknown_api(choices: Choices, valid: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    key = choices.integer(*choices.one_of(((_UNKNOWN_API_KEY_MIN, _INT16_MAX), (-_INT16_MAX - 1, -1))))
    return framed(struct.pack(">h", key) + valid.header[2:] + valid.body)


def _unknown_version(choices: Choices, valid: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    version = choices.integer(valid.version_highest + 1, _INT16_MAX)
    header = RequestHeader(request_api_key=valid.cls.API_KEY, request_api_version=version, client_id=choices.text(8))
    return framed(header.encode(request_header_version(valid.cls, version)) + valid.body)


def _client_id_past_the_end(choices: Choices, valid: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    rest = (valid.header[10:] + valid.body)[: _INT16_MAX - 1]
    length = struct.pack(">h", choices.integer(len(rest) + 1, _INT16_MAX))
    return framed(valid.header[:8] + length + rest)


def _negative_client_id(choices: Choices, valid: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    length = struct.pack(">h", choices.integer(-_INT16_MAX - 1, -2))
    tags = b"\0" if request_header_version(valid.cls, valid.version) > 1 else b""
    return framed(valid.header[:8] + length + tags + valid.body)


_BREAKERS: Final[Mapping[str, Callable[[Choices, _Request, int], bytes]]] = {
    "the size is negative": lambda choices, *_: _sized(choices, -_INT32_MAX - 1, -1),
    "the size is above the limit": lambda choices, valid, limit: _sized(choices, limit + 1, _INT32_MAX) + valid.header,
    "there is no such API": _unknown_api,
    _NO_SUCH_VERSION: _unknown_version,
    "the frame ends inside the header": lambda choices, valid, _: framed(
        valid.header[: choices.below(len(valid.header))]
    ),
    "the client id goes past the end": _client_id_past_the_end,
    _NEGATIVE_CLIENT_ID: _negative_client_id,
}
"""Make a broken frame of a valid request and the limit of bytes of the broker."""

HEADER_RULES: Final = tuple(_BREAKERS)
"""Every rule of the size and the header that can be broken."""
