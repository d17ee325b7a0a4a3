"""BrokerRegistration (api key 62): a broker registers at the controller.

Mirrors BrokerRegistrationRequest and BrokerRegistrationResponse; KIP-631, KIP-841, KIP-858, KIP-866.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Listener(Struct):
    """One listener of the broker."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)
    security_protocol: int = field(Int16)


@struct
class Feature(Struct):
    """The range of levels of one feature that the broker supports (KIP-584)."""

    name: str = field(String, map_key=True)
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(api_key=ApiKey.BROKER_REGISTRATION, versions="0-4", flexible="0+")
class BrokerRegistrationRequest(Message):
    """The request: a broker registers at the controller."""

    broker_id: int = field(Int32, entity="brokerId")
    cluster_id: str = field(String)
    incarnation_id: bytes = field(Uuid)
    listeners: list[Listener] = field(Array(Listener))
    features: list[Feature] = field(Array(Feature))
    rack: str | None = field(String, nullable="0+")
    is_migrating_zk_broker: bool = field(Bool, versions="1+")
    log_dirs: list[bytes] = field(Array(Uuid), versions="2+", ignorable=True)
    previous_broker_epoch: int = field(Int64, versions="3+", default=-1, ignorable=True)


@message(api_key=ApiKey.BROKER_REGISTRATION, versions="0-4", flexible="0+")
class BrokerRegistrationResponse(Message):
    """The response: the epoch of the registration."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    broker_epoch: int = field(Int64, default=-1)
