"""ControllerRegistration (api key 70): a controller registers at the active controller.

Mirrors ControllerRegistrationRequest and ControllerRegistrationResponse; KIP-919.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Listener(Struct):
    """One listener of the controller."""

    name: str = field(String, map_key=True)
    host: str = field(String)
    port: int = field(Uint16)
    security_protocol: int = field(Int16)


@struct
class Feature(Struct):
    """The range of levels of one feature that the controller supports (KIP-584)."""

    name: str = field(String, map_key=True)
    min_supported_version: int = field(Int16)
    max_supported_version: int = field(Int16)


@message(api_key=ApiKey.CONTROLLER_REGISTRATION, versions="0", flexible="0+")
class ControllerRegistrationRequest(Message):
    """The request: a controller registers at the active controller."""

    controller_id: int = field(Int32)
    incarnation_id: bytes = field(Uuid)
    zk_migration_ready: bool = field(Bool)
    listeners: list[Listener] = field(Array(Listener))
    features: list[Feature] = field(Array(Feature))


@message(api_key=ApiKey.CONTROLLER_REGISTRATION, versions="0", flexible="0+")
class ControllerRegistrationResponse(Message):
    """The response: one error code."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
