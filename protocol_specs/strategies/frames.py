"""Whole request frames, size included: what a client may send to a broker, sound and broken. Mirrors NetworkReceive.

`refused` says that a broker closes the connection instead of answering, as SocketServer does when it cannot read a
request. What a broker thinks of sound values (an unknown topic, acks of 7) is another matter: it answers those.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import framed
from protocol_specs.messages.headers import RequestHeader, request_header_version
from protocol_specs.strategies.messages import message
from protocol_specs.strategies.near_misses import broken, shown

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from protocol_specs.message import Message
    from protocol_specs.version_range import VersionRange

REQUEST_BYTES_MAX: Final = 100 * 1024 * 1024
"""The default of socket.request.max.bytes."""

_INT16_MAX: Final = 2**15 - 1
_INT32_MAX: Final = 2**31 - 1
_NO_SUCH_VERSION: Final = "the API has no such version"
_NEGATIVE_CLIENT_ID: Final = "the client id is null by a length that is not -1"
_UNKNOWN_API_KEYS: Final = st.integers(1000, _INT16_MAX) | st.integers(-_INT16_MAX - 1, -1)


class Frame(NamedTuple):
    """A frame with its size. `rule` is what it breaks, empty when it is sound."""

    data: bytes
    rule: str
    refused: bool

    def __repr__(self) -> str:
        return f"Frame({shown(self.data)}, {self.rule!r}, refused={self.refused})"


def frames(
    *, versions: Mapping[int, VersionRange] | None = None, limit_bytes: int = REQUEST_BYTES_MAX
) -> SearchStrategy[Frame]:
    """Draw sound and broken request frames.

    `versions` are those that the broker serves, by API key; all that are declared when not given. `limit_bytes` is
    its socket.request.max.bytes.
    """
    return request_frames(versions=versions) | broken_frames(versions=versions, limit_bytes=limit_bytes)


@st.composite
def request_frames(draw: DrawFn, *, versions: Mapping[int, VersionRange] | None = None) -> Frame:
    """Draw sound request frames."""
    drawn = draw(_requests(versions))
    return Frame(framed(drawn.header + drawn.body), "", refused=False)


@st.composite
def broken_frames(
    draw: DrawFn,
    *,
    versions: Mapping[int, VersionRange] | None = None,
    limit_bytes: int = REQUEST_BYTES_MAX,
    rules: Collection[str] | None = None,
) -> Frame:
    """Draw request frames with one rule broken, any or one of these names: in the body, the size or the header."""
    drawn = draw(_requests(versions))
    of_header = [rule for rule in HEADER_RULES if rules is None or rule in rules]
    if not of_header or ((rules is None or len(rules) > len(of_header)) and draw(st.booleans())):
        data, rule, refused = broken(draw, drawn.cls, drawn.version, drawn.body, rules=rules)
        return Frame(framed(drawn.header + data), rule, refused)
    rule = draw(st.sampled_from(of_header))
    # ApiVersions of any version is answered: in version 0, with the versions that there are (KIP-511).
    answered = rule == _NEGATIVE_CLIENT_ID or (rule == _NO_SUCH_VERSION and drawn.cls.API_KEY == ApiKey.API_VERSIONS)
    return Frame(_BREAKERS[rule](draw, drawn, limit_bytes), rule, refused=not answered)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A sound request: `version_highest` is the highest that the broker serves."""

    cls: type[Message]
    version: int
    version_highest: int
    header: bytes
    body: bytes


_Breaker: TypeAlias = Callable[["DrawFn", _Request, int], bytes]
"""Makes a broken frame of a sound request and the broker's limit of bytes."""


@st.composite
def _requests(draw: DrawFn, versions: Mapping[int, VersionRange] | None) -> _Request:
    keys = [key for key in ApiKey if versions is None or key in versions]
    cls = registry.request_type(draw(st.sampled_from(keys)))
    served = cls.VERSIONS if versions is None else cls.VERSIONS.intersection(versions[cls.API_KEY])
    version = draw(st.integers(served.lowest, served.highest))
    return _Request(
        cls=cls,
        version=version,
        version_highest=served.highest,
        header=draw(_headers(cls, version)),
        body=draw(message(cls, version)).encode(version),
    )


def _headers(cls: type[Message], version: int) -> SearchStrategy[bytes]:
    header_version = request_header_version(cls, version)
    values = {"request_api_key": st.just(cls.API_KEY), "request_api_version": st.just(version)}
    return message(RequestHeader, header_version, values=values).map(lambda header: header.encode(header_version))


def _negative_size(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    del drawn, limit_bytes
    return struct.pack(">i", draw(st.integers(-_INT32_MAX - 1, -1)))


def _size_above_the_limit(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    return struct.pack(">i", draw(st.integers(limit_bytes + 1, _INT32_MAX))) + drawn.header


def _unknown_api(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    return framed(struct.pack(">h", draw(_UNKNOWN_API_KEYS)) + drawn.header[2:] + drawn.body)


def _unknown_version(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    version = draw(st.integers(drawn.version_highest + 1, _INT16_MAX))
    return framed(draw(_headers(drawn.cls, version)) + drawn.body)


def _header_cut(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    return framed(drawn.header[: draw(st.integers(0, len(drawn.header) - 1))])


def _client_id_past_the_end(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    rest = (drawn.header[10:] + drawn.body)[: _INT16_MAX - 1]
    return framed(drawn.header[:8] + struct.pack(">h", draw(st.integers(len(rest) + 1, _INT16_MAX))) + rest)


def _negative_client_id(draw: DrawFn, drawn: _Request, limit_bytes: int) -> bytes:
    del limit_bytes
    length = draw(st.integers(-_INT16_MAX - 1, -2))
    tags = b"\0" if request_header_version(drawn.cls, drawn.version) > 1 else b""
    return framed(drawn.header[:8] + struct.pack(">h", length) + tags + drawn.body)


_BREAKERS: Final[Mapping[str, _Breaker]] = {
    "the size is negative": _negative_size,
    "the size is above the limit": _size_above_the_limit,
    "there is no such API": _unknown_api,
    _NO_SUCH_VERSION: _unknown_version,
    "the frame ends inside the header": _header_cut,
    "the client id goes past the end": _client_id_past_the_end,
    _NEGATIVE_CLIENT_ID: _negative_client_id,
}

HEADER_RULES: Final = tuple(_BREAKERS)
"""Every rule of the size and the header that is broken here."""
