"""ShareGroupDescribe (api key 77): describe the state, members and assignments of share groups.

Mirrors ShareGroupDescribeRequest and ShareGroupDescribeResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.SHARE_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class ShareGroupDescribeRequest(Message):
    """The request: describe the state, members and assignments of share groups."""

    group_ids: list[str] = field(Array(String), entity="groupId")
    include_authorized_operations: bool = field(Bool)


@struct
class TopicPartitions(Struct):
    """The partitions of one topic in an assignment."""

    topic_id: bytes = field(Uuid)
    topic_name: str = field(String, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@struct
class Assignment(Struct):
    """The partitions of a member."""

    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


@struct
class Member(Struct):
    """One member of the group with its subscription and assignment."""

    member_id: str = field(String)
    rack_id: str | None = field(String, nullable="0+", default=None)
    member_epoch: int = field(Int32)
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String), entity="topicName")
    assignment: Assignment = field(Assignment)


@struct
class DescribedGroup(Struct):
    """One group with its state, epochs and members, or an error."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    group_id: str = field(String, entity="groupId")
    group_state: str = field(String)
    group_epoch: int = field(Int32)
    assignment_epoch: int = field(Int32)
    assignor_name: str = field(String)
    members: list[Member] = field(Array(Member))
    authorized_operations: int = field(Int32, default=-2147483648)


@message(api_key=ApiKey.SHARE_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class ShareGroupDescribeResponse(Message):
    """The response: one description or error per group."""

    throttle_time_ms: int = field(Int32)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))
