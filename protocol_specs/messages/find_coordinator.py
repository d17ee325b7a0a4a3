"""FindCoordinator (api key 10): find the broker that coordinates a group or a transactional id.

Mirrors FindCoordinatorRequest and FindCoordinatorResponse; KIP-98, KIP-699, KIP-890, KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Message):
    """The request: find the broker that coordinates a group or a transactional id."""

    key: str = field(String, versions="0-3")
    key_type: int = field(Int8, versions="1+")
    coordinator_keys: list[str] = field(Array(String), versions="4+")


@struct
class Coordinator(Struct):
    """The coordinator of one key, or an error (KIP-699)."""

    key: str = field(String, versions="4+")
    node_id: int = field(Int32, versions="4+", entity="brokerId")
    host: str = field(String, versions="4+")
    port: int = field(Int32, versions="4+")
    error_code: int = field(Int16, versions="4+")
    error_message: str | None = field(String, versions="4+", nullable="4+", ignorable=True)


@message(api_key=ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+")
class FindCoordinatorResponse(Message):
    """The response: the address of the coordinator; one per key from v4 on."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16, versions="0-3")
    error_message: str | None = field(String, versions="1-3", nullable="1-3", ignorable=True)
    node_id: int = field(Int32, versions="0-3", entity="brokerId")
    host: str = field(String, versions="0-3")
    port: int = field(Int32, versions="0-3")
    coordinators: list[Coordinator] = field(Array(Coordinator), versions="4+")
