"""CreateTopics (api key 19): create topics.

Mirrors CreateTopicsRequest and CreateTopicsResponse; KIP-4, KIP-464, KIP-525, KIP-516.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class CreatableReplicaAssignment(Struct):
    """The replicas of one partition, where the client assigns them."""

    partition_index: int = field(Int32, map_key=True)
    broker_ids: list[int] = field(Array(Int32), entity="brokerId")


@struct
class CreatableTopicConfig(Struct):
    """One configuration of the new topic."""

    name: str = field(String, map_key=True)
    value: str | None = field(String, nullable="0+")


@struct
class CreatableTopic(Struct):
    """One topic to create."""

    name: str = field(String, map_key=True, entity="topicName")
    num_partitions: int = field(Int32)
    replication_factor: int = field(Int16)
    assignments: list[CreatableReplicaAssignment] = field(Array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = field(Array(CreatableTopicConfig))


@message(api_key=ApiKey.CREATE_TOPICS, versions="0-7", flexible="5+")
class CreateTopicsRequest(Message):
    """The request: create topics."""

    topics: list[CreatableTopic] = field(Array(CreatableTopic))
    timeout_ms: int = field(Int32, default=60000)
    validate_only: bool = field(Bool, versions="1+")


@struct
class CreatableTopicConfigs(Struct):
    """One configuration of the created topic, with its source (KIP-525)."""

    name: str = field(String, versions="5+")
    value: str | None = field(String, versions="5+", nullable="5+")
    read_only: bool = field(Bool, versions="5+")
    config_source: int = field(Int8, versions="5+", default=-1, ignorable=True)
    is_sensitive: bool = field(Bool, versions="5+")


@struct
class CreatableTopicResult(Struct):
    """The result of one topic."""

    name: str = field(String, map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="7+", ignorable=True)
    error_code: int = field(Int16)
    error_message: str | None = field(String, versions="1+", nullable="1+", ignorable=True)
    topic_config_error_code: int = field(Int16, versions="5+", tag=0, tagged="5+", ignorable=True)
    num_partitions: int = field(Int32, versions="5+", default=-1, ignorable=True)
    replication_factor: int = field(Int16, versions="5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field(
        Array(CreatableTopicConfigs), versions="5+", nullable="5+", ignorable=True
    )


@message(api_key=ApiKey.CREATE_TOPICS, versions="0-7", flexible="5+")
class CreateTopicsResponse(Message):
    """The response: one result per topic, with its configuration from v5 on."""

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[CreatableTopicResult] = field(Array(CreatableTopicResult))
