"""The addresses of brokers in responses, which a proxy replaces by its own, so that clients stay on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from protocol_specs.api_key import ApiKey
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["WITH_ADDRESSES", "AddressOf", "limit_versions", "may_name_brokers", "replace_addresses"]

AddressOf: TypeAlias = "Callable[[int, str, int], tuple[str, int]]"
"""Returns the address at the proxy for a node's id and address."""

WITH_ADDRESSES: Final[Mapping[ApiKey, str]] = {
    ApiKey.METADATA: "brokers",
    ApiKey.FIND_COORDINATOR: "coordinators",
    ApiKey.DESCRIBE_CLUSTER: "brokers",
    ApiKey.PRODUCE: "node_endpoints",
    ApiKey.FETCH: "node_endpoints",
    ApiKey.SHARE_FETCH: "node_endpoints",
    ApiKey.SHARE_ACKNOWLEDGE: "node_endpoints",
}
"""The APIs whose responses name brokers, each with its list of them. `node_endpoints` are leader hints (KIP-951)."""
_KEYS: Final = frozenset(int(key) for key in WITH_ADDRESSES)
HINTS_SINCE: Final[Mapping[ApiKey, int]] = {ApiKey.PRODUCE: 10, ApiKey.FETCH: 16}
"""The versions from which these responses can name brokers."""


def may_name_brokers(api_key: ApiKey, version: int) -> bool:
    """Return True if a response must be decoded to find addresses."""
    return api_key in WITH_ADDRESSES and version >= HINTS_SINCE.get(api_key, 0)


def replace_addresses(api_key: ApiKey, response: Any, address_of: AddressOf) -> bool:
    """Replace the addresses in a response. Returns False if it names no broker."""
    changed = False
    for node in _nodes(api_key, response):
        node_id = node.broker_id if api_key is ApiKey.DESCRIBE_CLUSTER else node.node_id
        if node_id >= 0 and node.host:
            node.host, node.port = address_of(node_id, node.host, node.port)
            changed = True
    return changed


def limit_versions(response: Any) -> bool:
    """Limit an ApiVersionsResponse to the versions whose addresses can be replaced. Returns False if it has none."""
    changed = False
    for api in response.api_keys:
        if api.api_key not in _KEYS:
            continue
        highest = response_type(ApiKey(api.api_key)).VERSIONS.highest
        if api.max_version > highest:
            api.max_version = highest
            changed = True
    return changed


def _nodes(api_key: ApiKey, response: Any) -> Iterator[Any]:
    yield from getattr(response, WITH_ADDRESSES[api_key])
    if api_key is ApiKey.FIND_COORDINATOR:
        yield response  # versions 0 to 3 name one coordinator
