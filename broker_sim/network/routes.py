"""The version gate: the API versions that a connection may send, and the decoder of each. Mirrors the check of
ApiVersionManager.isApiEnabled in Processor.parseRequestHeader.

The gate decides once per API and version; later frames find the decision by their first four bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.codec.repeated_heads import offset_commit_decoder, produce_decoder
from protocol_specs.messages.headers import request_header_version
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Buffer, DecodeFunction
    from protocol_specs.messages.headers import RequestHeader

__all__ = ["Route", "VersionGate"]

TAGGED_HEADER: Final = 2
_HEAD: Final = Struct(">hh")
_API_KEYS: Final = {int(key): key for key in ApiKey}


@dataclass(frozen=True, slots=True)
class Route:
    """One API at one version. `tagged` is 1 when the header ends with a tag section, whose first byte is a count.

    `key` is the API key (upper 16 bits) and the version.
    """

    key: int
    api_key: ApiKey
    version: int
    tagged: int
    decode: DecodeFunction


_WITH_MEMORY: Final[Mapping[ApiKey, Callable[[int], DecodeFunction]]] = {
    ApiKey.PRODUCE: produce_decoder,
    ApiKey.OFFSET_COMMIT: offset_commit_decoder,
}


@lru_cache(maxsize=1024)
def _route_of(api_key: ApiKey, version: int) -> Route:
    request = request_type(api_key)
    decode: DecodeFunction = _decode_nothing
    if version in request.VERSIONS:
        decode = _WITH_MEMORY[api_key](version) if api_key in _WITH_MEMORY else decoder_for(request, version)
    tagged = int(request_header_version(request, version) == TAGGED_HEADER)
    return Route(api_key << 16 | version, api_key, version, tagged, decode)


def _decode_nothing(data: Buffer, position: int) -> tuple[Any, int]:  # noqa: ARG001
    return None, position


_UNREAD_API_VERSIONS: Final = Route(ApiKey.API_VERSIONS << 16, ApiKey.API_VERSIONS, 0, 0, _decode_nothing)


class VersionGate:
    """`enabled` are the versions that are served; `routes` those that were requested, by API key (upper 16 bits) and
    version.
    """

    __slots__ = ("_enabled", "routes")

    def __init__(self, enabled: Mapping[ApiKey, range]) -> None:
        self._enabled = enabled
        self.routes: dict[int, Route] = {}

    def route_of(self, header: RequestHeader) -> Route | None:
        """Return the route of a request; None when it is not served. ApiVersions has one for every version."""
        api_key = _API_KEYS.get(header.request_api_key)
        enabled = None if api_key is None else self._enabled.get(api_key)
        version = header.request_api_version
        if api_key is None or enabled is None or (version not in enabled and api_key is not ApiKey.API_VERSIONS):
            return None
        route = _route_of(api_key, version)
        without_client_id = api_key is ApiKey.CONTROLLED_SHUTDOWN and version == 0
        if version in enabled and not without_client_id:
            self.routes[api_key << 16 | version] = route
        return route

    def unserved(self, frame: bytes) -> str:
        """Return that a frame is of a version which is not served, for the error of its header; else an empty text.

        The layout of a header follows from API and version, so that a wrong version alone makes it unreadable.
        """
        if len(frame) < _HEAD.size:
            return ""
        key, version = _HEAD.unpack_from(frame)
        api_key = _API_KEYS.get(key)
        enabled = None if api_key is None else self._enabled.get(api_key)
        if api_key is None or enabled is None or version in enabled:
            return ""
        return f" ({api_key.api_name} v{version} is not served: expected v{enabled.start} to v{enabled.stop - 1})"

    def decoder_of(self, context: RequestContext) -> Route:
        """Return the route that decodes the body of a request which the gate has accepted.

        The version of an ApiVersions that is not served becomes 0, and its body is not read: every client reads the
        oldest response.
        """
        api_key, version = context.api_key, context.api_version
        route = self.routes.get(api_key << 16 | version)
        if route is None:
            if version not in self._enabled[api_key]:
                context.api_version = 0
                return _UNREAD_API_VERSIONS
            route = _route_of(api_key, version)
        return route
