"""StreamsGroupHeartbeat (api key 88): a member of a streams group says what it wants and learns its tasks.

Mirrors StreamsGroupHeartbeatRequest and StreamsGroupHeartbeatResponse; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String, Uint16
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class KeyValue(Struct):
    """One element of topic_configs."""

    key: str = field(String)
    value: str = field(String)


@struct
class TopicInfo(Struct):
    """One element of state_changelog_topics."""

    name: str = field(String, entity="topicName")
    partitions: int = field(Int32)
    replication_factor: int = field(Int16)
    topic_configs: list[KeyValue] = field(Array(KeyValue))


@struct
class CopartitionGroup(Struct):
    """One element of copartition_groups."""

    source_topics: list[int] = field(Array(Int16))
    source_topic_regex: list[int] = field(Array(Int16))
    repartition_source_topics: list[int] = field(Array(Int16))


@struct
class Subtopology(Struct):
    """One element of subtopologies."""

    subtopology_id: str = field(String)
    source_topics: list[str] = field(Array(String), entity="topicName")
    source_topic_regex: list[str] = field(Array(String))
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
    repartition_sink_topics: list[str] = field(Array(String), entity="topicName")
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))
    copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))


@struct
class Topology(Struct):
    """The struct behind topology."""

    epoch: int = field(Int32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))


@struct
class TaskIds(Struct):
    """One element of active_tasks."""

    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32))


@struct
class Endpoint(Struct):
    """The struct behind user_endpoint."""

    host: str = field(String)
    port: int = field(Uint16)


@struct
class TaskOffset(Struct):
    """One element of task_offsets."""

    subtopology_id: str = field(String)
    partition: int = field(Int32)
    offset: int = field(Int64)


@message(api_key=ApiKey.STREAMS_GROUP_HEARTBEAT, versions="0", flexible="0+")
class StreamsGroupHeartbeatRequest(Message):
    """What a client asks: a member of a streams group says what it wants and learns its tasks."""

    group_id: str = field(String, entity="groupId")
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    endpoint_information_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable="0+", default=None)
    rack_id: str | None = field(String, nullable="0+", default=None)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    topology: Topology | None = field(Topology, nullable="0+", default=None)
    active_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    process_id: str | None = field(String, nullable="0+", default=None)
    user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] | None = field(Array(KeyValue), nullable="0+", default=None)
    task_offsets: list[TaskOffset] | None = field(Array(TaskOffset), nullable="0+", default=None)
    task_end_offsets: list[TaskOffset] | None = field(Array(TaskOffset), nullable="0+", default=None)
    shutdown_application: bool = field(Bool)


@struct
class Status(Struct):
    """One element of status."""

    status_code: int = field(Int8)
    status_detail: str = field(String)


@struct
class TopicPartition(Struct):
    """One element of active_partitions."""

    topic: str = field(String, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@struct
class EndpointToPartitions(Struct):
    """One element of partitions_by_user_endpoint."""

    user_endpoint: Endpoint = field(Endpoint)
    active_partitions: list[TopicPartition] = field(Array(TopicPartition))
    standby_partitions: list[TopicPartition] = field(Array(TopicPartition))


@message(api_key=ApiKey.STREAMS_GROUP_HEARTBEAT, versions="0", flexible="0+")
class StreamsGroupHeartbeatResponse(Message):
    """What the broker answers to StreamsGroupHeartbeatRequest."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    acceptable_recovery_lag: int = field(Int32)
    task_offset_interval_ms: int = field(Int32)
    status: list[Status] | None = field(Array(Status), nullable="0+")
    active_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    endpoint_information_epoch: int = field(Int32)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(
        Array(EndpointToPartitions), nullable="0+", default=None
    )
