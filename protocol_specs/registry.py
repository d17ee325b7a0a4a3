"""API key -> request and response classes, imported when first asked for. Mirrors Kafka's ApiKeys."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import UnknownApi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message

_MODULES: Final[Mapping[int, tuple[str, str]]] = {
    0: ("Produce", "produce"),
    1: ("Fetch", "fetch"),
    2: ("ListOffsets", "list_offsets"),
    3: ("Metadata", "metadata"),
    10: ("FindCoordinator", "find_coordinator"),
    18: ("ApiVersions", "api_versions"),
    19: ("CreateTopics", "create_topics"),
    20: ("DeleteTopics", "delete_topics"),
    22: ("InitProducerId", "init_producer_id"),
    23: ("OffsetForLeaderEpoch", "offset_for_leader_epoch"),
    32: ("DescribeConfigs", "describe_configs"),
    60: ("DescribeCluster", "describe_cluster"),
}

API_KEYS: Final[tuple[int, ...]] = tuple(_MODULES)
"""Every declared API key, ascending."""


@lru_cache(maxsize=256)
def request_type(api_key: int) -> type[Message]:
    """The request class of an API key. Raises UnknownApi."""
    return _message_type(api_key, "Request")


@lru_cache(maxsize=256)
def response_type(api_key: int) -> type[Message]:
    """The response class of an API key. Raises UnknownApi."""
    return _message_type(api_key, "Response")


def api_name(api_key: int) -> str:
    """Kafka's name of an API key. Raises UnknownApi."""
    return _entry(api_key)[0]


def api_key(name: str) -> int:
    """The API key behind Kafka's name, in any case. Raises UnknownApi with the nearest names."""
    for key, (known, _) in _MODULES.items():
        if known.lower() == name.lower():
            return key
    from difflib import get_close_matches

    raise UnknownApi(repr(name), tuple(get_close_matches(name, [known for known, _ in _MODULES.values()])))


def _entry(api_key: int) -> tuple[str, str]:
    if api_key not in _MODULES:
        raise UnknownApi(f"key {api_key}")
    return _MODULES[api_key]


def _message_type(api_key: int, kind: str) -> type[Message]:
    name, module = _entry(api_key)
    found: type[Message] = getattr(import_module(f"protocol_specs.messages.{module}"), name + kind)
    return found
