"""RegisterBrokerRecord: a broker registered.

Record type 0 of the metadata log.

Mirrors RegisterBrokerRecord; KIP-631, KIP-841, KIP-858, KIP-866.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String, Uint16, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@struct
class BrokerEndpoint(Struct):
    """One listener of the broker."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)
    security_protocol: int = field(Int16)


@struct
class BrokerFeature(Struct):
    """The range of levels of one feature that the broker supports (KIP-584)."""

    name: str = field(String, map_key=True)
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(kind=Kind.METADATA, record_type=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord(Message):
    """The record: a broker registered."""

    broker_id: int = field(Int32, entity="brokerId")
    is_migrating_zk_broker: bool = field(Bool, versions="2+")
    incarnation_id: bytes = field(Uuid)
    broker_epoch: int = field(Int64)
    end_points: list[BrokerEndpoint] = field(Array(BrokerEndpoint))
    features: list[BrokerFeature] = field(Array(BrokerFeature))
    rack: str | None = field(String, nullable="0+")
    fenced: bool = field(Bool, default=True)
    in_controlled_shutdown: bool = field(Bool, versions="1+")
    log_dirs: list[bytes] = field(Array(Uuid), versions="3+", tag=0, tagged="3+")
    cordoned_log_dirs: list[bytes] | None = field(
        Array(Uuid), versions="4+", nullable="4+", tag=1, tagged="4+", default=None
    )
