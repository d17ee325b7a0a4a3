"""DescribeConfigs (api key 32): list configurations with their sources.

Mirrors DescribeConfigsRequest and DescribeConfigsResponse; KIP-133, KIP-226, KIP-569.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DescribeConfigsResource(Struct):
    """A resource, and the names of its requested configurations; null requests all."""

    resource_type: int = field(Int8)
    resource_name: str = field(String)
    configuration_keys: list[str] | None = field(Array(String), nullable="0+")


@message(api_key=ApiKey.DESCRIBE_CONFIGS, versions="0-4", flexible="4+")
class DescribeConfigsRequest(Message):
    """The request: list configurations with their sources."""

    resources: list[DescribeConfigsResource] = field(Array(DescribeConfigsResource))
    include_synonyms: bool = field(Bool, versions="1+")
    include_documentation: bool = field(Bool, versions="3+")


@struct
class DescribeConfigsSynonym(Struct):
    """A configuration that would apply, in order of precedence (KIP-226)."""

    name: str = field(String, versions="1+")
    value: str | None = field(String, versions="1+", nullable="1+")
    source: int = field(Int8, versions="1+")


@struct
class DescribeConfigsResourceResult(Struct):
    """One configuration with its value and source."""

    name: str = field(String)
    value: str | None = field(String, nullable="0+")
    read_only: bool = field(Bool)
    config_source: int = field(Int8, versions="1+", default=-1, ignorable=True)
    is_default: bool = field(Bool, versions="0")
    is_sensitive: bool = field(Bool)
    synonyms: list[DescribeConfigsSynonym] = field(Array(DescribeConfigsSynonym), versions="1+", ignorable=True)
    config_type: int = field(Int8, versions="3+", ignorable=True)
    documentation: str | None = field(String, versions="3+", nullable="3+", ignorable=True)


@struct
class DescribeConfigsResult(Struct):
    """The configurations of one resource, or an error."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    configs: list[DescribeConfigsResourceResult] = field(Array(DescribeConfigsResourceResult))


@message(api_key=ApiKey.DESCRIBE_CONFIGS, versions="0-4", flexible="4+")
class DescribeConfigsResponse(Message):
    """The response: the configuration or an error per resource."""

    throttle_time_ms: int = field(Int32)
    results: list[DescribeConfigsResult] = field(Array(DescribeConfigsResult))
