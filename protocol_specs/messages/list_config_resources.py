"""ListConfigResources (api key 74): the configuration resources of a cluster; once the client metrics resources alone.

Mirrors ListConfigResourcesRequest and ListConfigResourcesResponse; KIP-1000, KIP-1142.
Once named ListClientMetricsResources.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Message):
    """What a client asks: the configuration resources of a cluster; once the client metrics resources alone."""

    resource_types: list[int] = field(Array(Int8), versions="1+")


@struct
class ConfigResource(Struct):
    """One element of config_resources."""

    resource_name: str = field(String)
    resource_type: int = field(Int8, versions="1+", default=16, ignorable=True)


@message(api_key=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesResponse(Message):
    """What the broker answers to ListConfigResourcesRequest."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    config_resources: list[ConfigResource] = field(Array(ConfigResource))
