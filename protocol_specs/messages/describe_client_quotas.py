"""DescribeClientQuotas (api key 48): client quotas that match a filter.

Mirrors DescribeClientQuotasRequest and DescribeClientQuotasResponse; KIP-546.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Float64, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ComponentData(Struct):
    """One element of components."""

    entity_type: str = field(String)
    match_type: int = field(Int8)
    match: str | None = field(String, nullable="0+")


@message(api_key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(Message):
    """What a client asks: client quotas that match a filter."""

    components: list[ComponentData] = field(Array(ComponentData))
    strict: bool = field(Bool)


@struct
class EntityData(Struct):
    """One element of entity."""

    entity_type: str = field(String)
    entity_name: str | None = field(String, nullable="0+")


@struct
class ValueData(Struct):
    """One element of values."""

    key: str = field(String)
    value: float = field(Float64)


@struct
class EntryData(Struct):
    """One element of entries."""

    entity: list[EntityData] = field(Array(EntityData))
    values: list[ValueData] = field(Array(ValueData))


@message(api_key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(Message):
    """What the broker answers to DescribeClientQuotasRequest."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    entries: list[EntryData] | None = field(Array(EntryData), nullable="0+")
