"""ApiVersions (api key 18): list the APIs, versions and features of a broker.

Mirrors ApiVersionsRequest and ApiVersionsResponse; KIP-35, KIP-511, KIP-584.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.API_VERSIONS, versions="0-4", flexible="3+")
class ApiVersionsRequest(Message):
    """The request: list the APIs, versions and features of a broker."""

    client_software_name: str = field(String, versions="3+", ignorable=True)
    client_software_version: str = field(String, versions="3+", ignorable=True)


@struct
class ApiVersion(Struct):
    """The range of versions of one API that the broker serves."""

    api_key: int = field(Int16, map_key=True)
    min_version: int = field(Int16)
    max_version: int = field(Int16)


@struct
class SupportedFeatureKey(Struct):
    """The range of levels of one feature that the broker supports (KIP-584)."""

    name: str = field(String, versions="3+", map_key=True)
    min_version: int = field(Int16, versions="3+")
    max_version: int = field(Int16, versions="3+")


@struct
class FinalizedFeatureKey(Struct):
    """The level of one feature that the cluster has finalized (KIP-584)."""

    name: str = field(String, versions="3+", map_key=True)
    max_version_level: int = field(Int16, versions="3+")
    min_version_level: int = field(Int16, versions="3+")


@message(api_key=ApiKey.API_VERSIONS, versions="0-4", flexible="3+")
class ApiVersionsResponse(Message):
    """The response: the version range of each API, and supported and finalized features."""

    error_code: int = field(Int16)
    api_keys: list[ApiVersion] = field(Array(ApiVersion))
    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = field(
        Array(SupportedFeatureKey), versions="3+", tag=0, tagged="3+", ignorable=True
    )
    finalized_features_epoch: int = field(Int64, versions="3+", tag=1, tagged="3+", default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field(
        Array(FinalizedFeatureKey), versions="3+", tag=2, tagged="3+", ignorable=True
    )
    zk_migration_ready: bool = field(Bool, versions="3+", tag=3, tagged="3+", ignorable=True)
