"""RegisterControllerRecord: a controller registered.

Record type 27 of the metadata log.

Mirrors RegisterControllerRecord; KIP-919.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bool, Int16, Int32, String, Uint16, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@struct
class ControllerEndpoint(Struct):
    """One listener of the controller."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)
    security_protocol: int = field(Int16)


@struct
class ControllerFeature(Struct):
    """The range of levels of one feature that the controller supports (KIP-584)."""

    name: str = field(String, map_key=True)
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(kind=Kind.METADATA, record_type=27, versions="0", flexible="0+")
class RegisterControllerRecord(Message):
    """The record: a controller registered."""

    controller_id: int = field(Int32)
    incarnation_id: bytes = field(Uuid)
    zk_migration_ready: bool = field(Bool)
    end_points: list[ControllerEndpoint] = field(Array(ControllerEndpoint))
    features: list[ControllerFeature] = field(Array(ControllerFeature))
