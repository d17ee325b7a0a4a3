"""Heartbeat (api key 12): a member of a classic group reports that it is alive.

Mirrors HeartbeatRequest and HeartbeatResponse; KIP-345.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Int16, Int32, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.HEARTBEAT, versions="0-4", flexible="4+")
class HeartbeatRequest(Message):
    """The request: a member of a classic group reports that it is alive."""

    group_id: str = field(String, entity="groupId")
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)


@message(api_key=ApiKey.HEARTBEAT, versions="0-4", flexible="4+")
class HeartbeatResponse(Message):
    """The response: one error code, such as REBALANCE_IN_PROGRESS."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
