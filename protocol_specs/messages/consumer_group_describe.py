"""ConsumerGroupDescribe (api key 69): describe the state, members and assignments of consumer groups.

Mirrors ConsumerGroupDescribeRequest and ConsumerGroupDescribeResponse; KIP-848, KIP-1099.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest(Message):
    """The request: describe the state, members and assignments of consumer groups."""

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
    """The partitions of a member: its current or its target assignment."""

    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


@struct
class Member(Struct):
    """One member of the group with its subscription and assignments."""

    member_id: str = field(String)
    instance_id: str | None = field(String, nullable="0+", default=None)
    rack_id: str | None = field(String, nullable="0+", default=None)
    member_epoch: int = field(Int32)
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String), entity="topicName")
    subscribed_topic_regex: str | None = field(String, nullable="0+", default=None)
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    member_type: int = field(Int8, versions="1+", default=-1, ignorable=True)


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


@message(api_key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse(Message):
    """The response: one description or error per group."""

    throttle_time_ms: int = field(Int32)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))
