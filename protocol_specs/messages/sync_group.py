"""SyncGroup (api key 14): the leader of a classic group hands out the assignment; followers ask for theirs.

Mirrors SyncGroupRequest and SyncGroupResponse; KIP-345, KIP-559.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bytes, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class SyncGroupRequestAssignment(Struct):
    """One element of assignments."""

    member_id: str = field(String)
    assignment: bytes = field(Bytes)


@message(api_key=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+")
class SyncGroupRequest(Message):
    """What a client asks: the leader of a classic group hands out the assignment; followers ask for theirs."""

    group_id: str = field(String, entity="groupId")
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    protocol_type: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field(Array(SyncGroupRequestAssignment))


@message(api_key=ApiKey.SYNC_GROUP, versions="0-5", flexible="4+")
class SyncGroupResponse(Message):
    """What the broker answers to SyncGroupRequest."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    protocol_type: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = field(Bytes)
