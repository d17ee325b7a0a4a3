"""DescribeGroups (api key 15): describe the state and members of classic groups.

Mirrors DescribeGroupsRequest and DescribeGroupsResponse; KIP-345, KIP-430, KIP-1043.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Bytes, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+")
class DescribeGroupsRequest(Message):
    """The request: describe the state and members of classic groups."""

    groups: list[str] = field(Array(String), entity="groupId")
    include_authorized_operations: bool = field(Bool, versions="3+")


@struct
class DescribedGroupMember(Struct):
    """One member with its metadata and assignment, as bytes of the group's protocol."""

    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="4+", nullable="4+", default=None, ignorable=True)
    client_id: str = field(String)
    client_host: str = field(String)
    member_metadata: bytes = field(Bytes)
    member_assignment: bytes = field(Bytes)


@struct
class DescribedGroup(Struct):
    """One group with its state and members, or an error."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, versions="6+", nullable="6+", default=None)
    group_id: str = field(String, entity="groupId")
    group_state: str = field(String)
    protocol_type: str = field(String)
    protocol_data: str = field(String)
    members: list[DescribedGroupMember] = field(Array(DescribedGroupMember))
    authorized_operations: int = field(Int32, versions="3+", default=-2147483648)


@message(api_key=ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+")
class DescribeGroupsResponse(Message):
    """The response: one description or error per group."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))
