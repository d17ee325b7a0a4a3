"""AlterClientQuotas (api key 49): set or remove client quotas.

Mirrors AlterClientQuotasRequest and AlterClientQuotasResponse; KIP-546.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Float64, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class EntityData(Struct):
    """One part of a quota entity: a user, client id or IP address, or the default of that type."""

    entity_type: str = field(String)
    entity_name: str | None = field(String, nullable="0+")


@struct
class OpData(Struct):
    """One quota to set or to remove, such as producer_byte_rate."""

    key: str = field(String)
    value: float = field(Float64)
    remove: bool = field(Bool)


@struct
class EntryData(Struct):
    """The changes for one quota entity."""

    entity: list[EntityData] = field(Array(EntityData))
    ops: list[OpData] = field(Array(OpData))


@message(api_key=ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class AlterClientQuotasRequest(Message):
    """The request: set or remove client quotas."""

    entries: list[EntryData] = field(Array(EntryData))
    validate_only: bool = field(Bool)


@struct
class ResponseEntryData(Struct):
    """The result of one quota entity."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    entity: list[EntityData] = field(Array(EntityData))


@message(api_key=ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class AlterClientQuotasResponse(Message):
    """The response: one result per quota entity."""

    throttle_time_ms: int = field(Int32)
    entries: list[ResponseEntryData] = field(Array(ResponseEntryData))
