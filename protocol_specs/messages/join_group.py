"""JoinGroup (api key 11): join a classic group and offer protocols.

Mirrors JoinGroupRequest and JoinGroupResponse; KIP-62, KIP-345, KIP-394, KIP-559, KIP-800, KIP-814.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Bytes, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class JoinGroupRequestProtocol(Struct):
    """A protocol that the member supports, such as an assignor, with its metadata."""

    name: str = field(String, map_key=True)
    metadata: bytes = field(Bytes)


@message(api_key=ApiKey.JOIN_GROUP, versions="0-9", flexible="6+")
class JoinGroupRequest(Message):
    """The request: join a classic group and offer protocols."""

    group_id: str = field(String, entity="groupId")
    session_timeout_ms: int = field(Int32)
    rebalance_timeout_ms: int = field(Int32, versions="1+", default=-1, ignorable=True)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="5+", nullable="5+", default=None)
    protocol_type: str = field(String)
    protocols: list[JoinGroupRequestProtocol] = field(Array(JoinGroupRequestProtocol))
    reason: str | None = field(String, versions="8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember(Struct):
    """One member with its metadata, sent to the leader of the group alone."""

    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = field(Bytes)


@message(api_key=ApiKey.JOIN_GROUP, versions="0-9", flexible="6+")
class JoinGroupResponse(Message):
    """The response: the generation and the protocol; the leader also receives the members."""

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    error_code: int = field(Int16)
    generation_id: int = field(Int32, default=-1)
    protocol_type: str | None = field(String, versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = field(String, nullable="7+")
    leader: str = field(String)
    skip_assignment: bool = field(Bool, versions="9+")
    member_id: str = field(String)
    members: list[JoinGroupResponseMember] = field(Array(JoinGroupResponseMember))
