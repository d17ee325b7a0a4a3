"""ClientQuotaRecord: a client quota is set or removed.

Record type 14 of the metadata log.

Mirrors ClientQuotaRecord; KIP-746.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bool, Float64, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@struct
class EntityData(Struct):
    """One part of a quota entity: a user, client id or IP address, or the default of that type."""

    entity_type: str = field(String)
    entity_name: str | None = field(String, nullable="0+")


@message(kind=Kind.METADATA, record_type=14, versions="0", flexible="0+")
class ClientQuotaRecord(Message):
    """The record: a client quota is set or removed."""

    entity: list[EntityData] = field(Array(EntityData))
    key: str = field(String)
    value: float = field(Float64)
    remove: bool = field(Bool)
