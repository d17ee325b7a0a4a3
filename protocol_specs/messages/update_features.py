"""UpdateFeatures (api key 57): finalize feature levels.

Mirrors UpdateFeaturesRequest and UpdateFeaturesResponse; KIP-584, KIP-778.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class FeatureUpdateKey(Struct):
    """The new level of one feature, and the kind of change that is allowed."""

    feature: str = field(String, map_key=True)
    max_version_level: int = field(Int16)
    allow_downgrade: bool = field(Bool, versions="0")
    upgrade_type: int = field(Int8, versions="1+", default=1)


@message(api_key=ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+")
class UpdateFeaturesRequest(Message):
    """The request: finalize feature levels."""

    timeout_ms: int = field(Int32, default=60000)
    feature_updates: list[FeatureUpdateKey] = field(Array(FeatureUpdateKey))
    validate_only: bool = field(Bool, versions="1+")


@struct
class UpdatableFeatureResult(Struct):
    """The result of one feature."""

    feature: str = field(String, versions="0-1", map_key=True)
    error_code: int = field(Int16, versions="0-1")
    error_message: str | None = field(String, versions="0-1", nullable="0-1")


@message(api_key=ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+")
class UpdateFeaturesResponse(Message):
    """The response: one result per feature up to v1; one error code from v2 on."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    results: list[UpdatableFeatureResult] = field(Array(UpdatableFeatureResult), versions="0-1", ignorable=True)
