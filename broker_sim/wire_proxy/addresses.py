"""The addresses of brokers in responses, which a proxy replaces by its own, so that clients stay on it.

A struct with an id, a host and a port is a broker: in Metadata, FindCoordinator and DescribeCluster, and in the leader
hints of Produce, Fetch and the share APIs (KIP-951).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from protocol_specs.api_key import ApiKey
from protocol_specs.entities import struct_of
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Message, Struct

__all__ = ["AddressOf", "limit_versions", "names_brokers", "replace_addresses"]

AddressOf: TypeAlias = "Callable[[int, str, int], tuple[str, int]]"
"""Returns the address at the proxy for a node's id and address."""

_ID_NAMES: Final = ("node_id", "broker_id")
_ADDRESS: Final = frozenset({"host", "port"})


class _Place(NamedTuple):
    """A list of brokers in a response, from a version on; an empty name is the response itself."""

    name: str
    id_name: str
    lowest: int


def names_brokers(api_key: ApiKey, version: int) -> bool:
    """Return True if a response can have addresses of brokers."""
    return any(version >= place.lowest for place in _places(response_type(api_key)))  # type: ignore[arg-type]


def replace_addresses(response: Any, address_of: AddressOf) -> bool:
    """Replace the addresses in a response. Returns False if it names no broker."""
    changed = False
    for place in _places(type(response)):  # type: ignore[arg-type]
        for node in [response] if not place.name else getattr(response, place.name):
            node_id = getattr(node, place.id_name)
            if node_id >= 0 and node.host:
                node.host, node.port = address_of(node_id, node.host, node.port)
                changed = True
    return changed


def limit_versions(response: Any) -> bool:
    """Limit an ApiVersionsResponse to versions whose addresses can be replaced. Returns False if it has no other."""
    changed = False
    for api in response.api_keys:
        if api.api_key not in iter(ApiKey):
            continue
        known = response_type(ApiKey(api.api_key))
        if _places(known) and api.max_version > known.VERSIONS.highest:  # type: ignore[arg-type]
            api.max_version = known.VERSIONS.highest
            changed = True
    return changed


@cache
def _places(response: type[Message]) -> tuple[_Place, ...]:
    return tuple(_find_places(response))


def _find_places(response: type[Message]) -> Iterator[_Place]:
    id_name = _id_of(response)
    if id_name is not None:
        yield _Place("", id_name, 0)
    for field in response.FIELDS:
        element = struct_of(field)
        id_name = None if element is None else _id_of(element)
        if id_name is not None:
            yield _Place(field.name, id_name, field.versions.lowest)


def _id_of(struct: type[Struct]) -> str | None:
    names = {field.name for field in struct.FIELDS}
    return next((name for name in _ID_NAMES if name in names), None) if names >= _ADDRESS else None
