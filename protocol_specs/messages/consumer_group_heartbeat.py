"""ConsumerGroupHeartbeat (api key 68): a member of a consumer group reports its state and receives its assignment.

Mirrors ConsumerGroupHeartbeatRequest and ConsumerGroupHeartbeatResponse; KIP-848, KIP-1082.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicPartitions(Struct):
    """The partitions of one topic in an assignment."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@message(api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest(Message):
    """The request: a member of a consumer group reports its state and receives its assignment."""

    group_id: str = field(String, entity="groupId")
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable="0+", default=None)
    rack_id: str | None = field(String, nullable="0+", default=None)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    subscribed_topic_names: list[str] | None = field(Array(String), nullable="0+", default=None, entity="topicName")
    subscribed_topic_regex: str | None = field(String, versions="1+", nullable="1+", default=None)
    server_assignor: str | None = field(String, nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = field(Array(TopicPartitions), nullable="0+", default=None)


@struct
class Assignment(Struct):
    """The partitions that the member shall own."""

    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


@message(api_key=ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse(Message):
    """The response: the member epoch, and the assignment if it has changed."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    member_id: str | None = field(String, nullable="0+", default=None)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    assignment: Assignment | None = field(Assignment, nullable="0+", default=None)
