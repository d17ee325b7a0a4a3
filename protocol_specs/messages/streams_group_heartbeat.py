"""StreamsGroupHeartbeat (api key 88): a member of a streams group reports its state and receives its tasks.

Mirrors StreamsGroupHeartbeatRequest and StreamsGroupHeartbeatResponse; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String, Uint16
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class KeyValue(Struct):
    """One configuration of an internal topic, or one client tag."""

    key: str = field(String)
    value: str = field(String)


@struct
class TopicInfo(Struct):
    """An internal topic: its partition count, replication factor and configuration."""

    name: str = field(String, entity="topicName")
    partitions: int = field(Int32)
    replication_factor: int = field(Int16)
    topic_configs: list[KeyValue] = field(Array(KeyValue))


@struct
class CopartitionGroup(Struct):
    """Topics of a subtopology that must have equal partition counts."""

    source_topics: list[int] = field(Array(Int16))
    source_topic_regex: list[int] = field(Array(Int16))
    repartition_source_topics: list[int] = field(Array(Int16))


@struct
class Subtopology(Struct):
    """One subtopology with its source and internal topics."""

    subtopology_id: str = field(String)
    source_topics: list[str] = field(Array(String), entity="topicName")
    source_topic_regex: list[str] = field(Array(String))
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
    repartition_sink_topics: list[str] = field(Array(String), entity="topicName")
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))
    copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))


@struct
class Topology(Struct):
    """The topology of the member with its epoch."""

    epoch: int = field(Int32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))


@struct
class TaskIds(Struct):
    """The tasks of one subtopology, by partition."""

    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32))


@struct
class Endpoint(Struct):
    """The address for interactive queries (`application.server`)."""

    host: str = field(String)
    port: int = field(Uint16)


@struct
class TaskOffset(Struct):
    """The cumulative changelog offset of one task."""

    subtopology_id: str = field(String)
    partition: int = field(Int32)
    offset: int = field(Int64)


@message(api_key=ApiKey.STREAMS_GROUP_HEARTBEAT, versions="0", flexible="0+")
class StreamsGroupHeartbeatRequest(Message):
    """The request: a member of a streams group reports its state and receives its tasks."""

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
    """A condition that the member must handle, such as a stale topology."""

    status_code: int = field(Int8)
    status_detail: str = field(String)


@struct
class TopicPartition(Struct):
    """The partitions of one topic at an endpoint."""

    topic: str = field(String, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@struct
class EndpointToPartitions(Struct):
    """The partitions that an endpoint serves for interactive queries."""

    user_endpoint: Endpoint = field(Endpoint)
    active_partitions: list[TopicPartition] = field(Array(TopicPartition))
    standby_partitions: list[TopicPartition] = field(Array(TopicPartition))


@message(api_key=ApiKey.STREAMS_GROUP_HEARTBEAT, versions="0", flexible="0+")
class StreamsGroupHeartbeatResponse(Message):
    """The response: the member epoch, and the tasks if they have changed."""

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
