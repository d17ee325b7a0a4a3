"""ListConfigResources (api key 74): list configuration resources; v0 lists client metrics resources alone.

Mirrors ListConfigResourcesRequest and ListConfigResourcesResponse; KIP-1000, KIP-1142.
Once named ListClientMetricsResources.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Message):
    """The request: list configuration resources; v0 lists client metrics resources alone."""

    resource_types: list[int] = field(Array(Int8), versions="1+")


@struct
class ConfigResource(Struct):
    """One resource by name and type."""

    resource_name: str = field(String)
    resource_type: int = field(Int8, versions="1+", default=16, ignorable=True)


@message(api_key=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesResponse(Message):
    """The response: the names and types of the resources."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    config_resources: list[ConfigResource] = field(Array(ConfigResource))
