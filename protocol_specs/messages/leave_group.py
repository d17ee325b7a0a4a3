"""LeaveGroup (api key 13): members leave a classic group.

Mirrors LeaveGroupRequest and LeaveGroupResponse; KIP-345, KIP-800.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class MemberIdentity(Struct):
    """A member that leaves, by member id or group instance id (KIP-345)."""

    member_id: str = field(String, versions="3+")
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    reason: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)


@message(api_key=ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+")
class LeaveGroupRequest(Message):
    """The request: members leave a classic group."""

    group_id: str = field(String, entity="groupId")
    member_id: str = field(String, versions="0-2")
    members: list[MemberIdentity] = field(Array(MemberIdentity), versions="3+")


@struct
class MemberResponse(Struct):
    """The result of one member."""

    member_id: str = field(String, versions="3+")
    group_instance_id: str | None = field(String, versions="3+", nullable="3+")
    error_code: int = field(Int16, versions="3+")


@message(api_key=ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+")
class LeaveGroupResponse(Message):
    """The response: one result per member from v3 on."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    members: list[MemberResponse] = field(Array(MemberResponse), versions="3+")
