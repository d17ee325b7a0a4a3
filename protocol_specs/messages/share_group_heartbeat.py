"""ShareGroupHeartbeat (api key 76): a member of a share group reports its state and receives its assignment.

Mirrors ShareGroupHeartbeatRequest and ShareGroupHeartbeatResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.SHARE_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class ShareGroupHeartbeatRequest(Message):
    """The request: a member of a share group reports its state and receives its assignment."""

    group_id: str = field(String, entity="groupId")
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    rack_id: str | None = field(String, nullable="0+", default=None)
    subscribed_topic_names: list[str] | None = field(Array(String), nullable="0+", default=None, entity="topicName")


@struct
class TopicPartitions(Struct):
    """The partitions of one topic in an assignment."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@struct
class Assignment(Struct):
    """The partitions that the member may fetch from."""

    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


@message(api_key=ApiKey.SHARE_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class ShareGroupHeartbeatResponse(Message):
    """The response: the member epoch, and the assignment if it has changed."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    member_id: str | None = field(String, nullable="0+", default=None)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    assignment: Assignment | None = field(Assignment, nullable="0+", default=None)
