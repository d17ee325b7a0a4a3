"""How a request of one API and version is read: looked up once, then found by the first four bytes of the frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.messages.headers import request_header_version
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from protocol_specs.api_key import ApiKey
    from protocol_specs.message import Buffer, DecodeFunction

__all__ = ["Route", "route_of"]

TAGGED_HEADER: Final = 2


@dataclass(frozen=True, slots=True)
class Route:
    """One API at one version. `tagged` is 1 when the header ends with a tag section, whose first byte is a count."""

    api_key: ApiKey
    version: int
    tagged: int
    decode: DecodeFunction


@lru_cache(maxsize=1024)
def route_of(api_key: ApiKey, version: int) -> Route:
    """The route of an API key that is known; a version that is not gets a decoder that answers None."""
    request = request_type(api_key)
    decode = decoder_for(request, version) if version in request.VERSIONS else _decode_nothing
    return Route(api_key, version, int(request_header_version(request, version) == TAGGED_HEADER), decode)


def _decode_nothing(data: Buffer, position: int) -> tuple[Any, int]:  # noqa: ARG001
    return None, position
