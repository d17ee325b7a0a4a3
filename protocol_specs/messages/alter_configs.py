"""AlterConfigs (api key 33): replace the configurations of topics or brokers.

Mirrors AlterConfigsRequest and AlterConfigsResponse; KIP-133.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AlterableConfig(Struct):
    """One configuration with its new value."""

    name: str = field(String, map_key=True)
    value: str | None = field(String, nullable="0+")


@struct
class AlterConfigsResource(Struct):
    """The whole new configuration of one resource."""

    resource_type: int = field(Int8, map_key=True)
    resource_name: str = field(String, map_key=True)
    configs: list[AlterableConfig] = field(Array(AlterableConfig))


@message(api_key=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+")
class AlterConfigsRequest(Message):
    """The request: replace the configurations of topics or brokers."""

    resources: list[AlterConfigsResource] = field(Array(AlterConfigsResource))
    validate_only: bool = field(Bool)


@struct
class AlterConfigsResourceResponse(Struct):
    """The result of one resource."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    resource_type: int = field(Int8)
    resource_name: str = field(String)


@message(api_key=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+")
class AlterConfigsResponse(Message):
    """The response: one result per resource."""

    throttle_time_ms: int = field(Int32)
    responses: list[AlterConfigsResourceResponse] = field(Array(AlterConfigsResourceResponse))
