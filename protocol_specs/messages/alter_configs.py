"""AlterConfigs (api key 33): replace the configurations of topics or brokers.

Mirrors AlterConfigsRequest and AlterConfigsResponse; KIP-133.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AlterableConfig(Struct):
    """One element of configs."""

    name: str = field(String, map_key=True)
    value: str | None = field(String, nullable="0+")


@struct
class AlterConfigsResource(Struct):
    """One element of resources."""

    resource_type: int = field(Int8, map_key=True)
    resource_name: str = field(String, map_key=True)
    configs: list[AlterableConfig] = field(Array(AlterableConfig))


@message(api_key=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+")
class AlterConfigsRequest(Message):
    """What a client asks: replace the configurations of topics or brokers."""

    resources: list[AlterConfigsResource] = field(Array(AlterConfigsResource))
    validate_only: bool = field(Bool)


@struct
class AlterConfigsResourceResponse(Struct):
    """One element of responses."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    resource_type: int = field(Int8)
    resource_name: str = field(String)


@message(api_key=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+")
class AlterConfigsResponse(Message):
    """What the broker answers to AlterConfigsRequest."""

    throttle_time_ms: int = field(Int32)
    responses: list[AlterConfigsResourceResponse] = field(Array(AlterConfigsResourceResponse))
