"""DescribeClientQuotas (api key 48): list the client quotas that match a filter.

Mirrors DescribeClientQuotasRequest and DescribeClientQuotasResponse; KIP-546.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Float64, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ComponentData(Struct):
    """One part of the filter: an entity type, and which entities of it match."""

    entity_type: str = field(String)
    match_type: int = field(Int8)
    match: str | None = field(String, nullable="0+")


@message(api_key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(Message):
    """The request: list the client quotas that match a filter."""

    components: list[ComponentData] = field(Array(ComponentData))
    strict: bool = field(Bool)


@struct
class EntityData(Struct):
    """One part of a quota entity: a user, client id or IP address, or the default of that type."""

    entity_type: str = field(String)
    entity_name: str | None = field(String, nullable="0+")


@struct
class ValueData(Struct):
    """One quota with its value, such as producer_byte_rate."""

    key: str = field(String)
    value: float = field(Float64)


@struct
class EntryData(Struct):
    """One quota entity with its quotas."""

    entity: list[EntityData] = field(Array(EntityData))
    values: list[ValueData] = field(Array(ValueData))


@message(api_key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(Message):
    """The response: the matching quotas, by entity."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    entries: list[EntryData] | None = field(Array(EntryData), nullable="0+")
