"""StreamsGroupDescribe (api key 89): describe the state, topology and members of streams groups.

Mirrors StreamsGroupDescribeRequest and StreamsGroupDescribeResponse; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String, Uint16
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.STREAMS_GROUP_DESCRIBE, versions="0", flexible="0+")
class StreamsGroupDescribeRequest(Message):
    """The request: describe the state, topology and members of streams groups."""

    group_ids: list[str] = field(Array(String), entity="groupId")
    include_authorized_operations: bool = field(Bool)


@struct
class KeyValue(Struct):
    """One configuration of an internal topic."""

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
class Subtopology(Struct):
    """One subtopology with its source and internal topics."""

    subtopology_id: str = field(String)
    source_topics: list[str] = field(Array(String), entity="topicName")
    repartition_sink_topics: list[str] = field(Array(String), entity="topicName")
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))


@struct
class Topology(Struct):
    """The topology of the group with its epoch."""

    epoch: int = field(Int32)
    subtopologies: list[Subtopology] | None = field(Array(Subtopology), nullable="0+", default=None)


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


@struct
class TaskIds(Struct):
    """The tasks of one subtopology, by partition."""

    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32))


@struct
class Assignment(Struct):
    """The active, standby and warm-up tasks of a member."""

    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))


@struct
class Member(Struct):
    """One member of the group with its process and tasks."""

    member_id: str = field(String)
    member_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable="0+", default=None)
    rack_id: str | None = field(String, nullable="0+", default=None)
    client_id: str = field(String)
    client_host: str = field(String)
    topology_epoch: int = field(Int32)
    process_id: str = field(String)
    user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = field(Array(KeyValue))
    task_offsets: list[TaskOffset] = field(Array(TaskOffset))
    task_end_offsets: list[TaskOffset] = field(Array(TaskOffset))
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    is_classic: bool = field(Bool)


@struct
class DescribedGroup(Struct):
    """One group with its state, topology and members, or an error."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    group_id: str = field(String, entity="groupId")
    group_state: str = field(String)
    group_epoch: int = field(Int32)
    assignment_epoch: int = field(Int32)
    topology: Topology | None = field(Topology, nullable="0+", default=None)
    members: list[Member] = field(Array(Member))
    authorized_operations: int = field(Int32, default=-2147483648)


@message(api_key=ApiKey.STREAMS_GROUP_DESCRIBE, versions="0", flexible="0+")
class StreamsGroupDescribeResponse(Message):
    """The response: one description or error per group."""

    throttle_time_ms: int = field(Int32)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))
