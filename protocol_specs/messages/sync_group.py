"""SyncGroup (api key 14): the leader of a classic group sends the assignment; every member receives its own.

Mirrors SyncGroupRequest and SyncGroupResponse; KIP-345, KIP-559.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bytes, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class SyncGroupRequestAssignment(Struct):
    """The assignment of one member, computed by the leader of the group."""

    member_id: str = field(String)
    assignment: bytes = field(Bytes)


@message(api_key=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+")
class SyncGroupRequest(Message):
    """The request: the leader of a classic group sends the assignment; every member receives its own."""

    group_id: str = field(String, entity="groupId")
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    protocol_type: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field(Array(SyncGroupRequestAssignment))


@message(api_key=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+")
class SyncGroupResponse(Message):
    """The response: the assignment of the member."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    protocol_type: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = field(Bytes)
