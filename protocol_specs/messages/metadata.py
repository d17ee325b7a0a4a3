"""Metadata (api key 3): list brokers, topics, partitions and their leaders.

Mirrors MetadataRequest and MetadataResponse; KIP-4, KIP-516, KIP-700.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class MetadataRequestTopic(Struct):
    """A requested topic, by name or by id (KIP-516)."""

    topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
    name: str | None = field(String, nullable="10+", entity="topicName")


@message(api_key=ApiKey.METADATA, versions="0-13", flexible="9+")
class MetadataRequest(Message):
    """The request: list brokers, topics, partitions and their leaders."""

    topics: list[MetadataRequestTopic] | None = field(Array(MetadataRequestTopic), nullable="1+")
    allow_auto_topic_creation: bool = field(Bool, versions="4+", default=True)
    include_cluster_authorized_operations: bool = field(Bool, versions="8-10")
    include_topic_authorized_operations: bool = field(Bool, versions="8+")


@struct
class MetadataResponseBroker(Struct):
    """One broker with its address and rack."""

    node_id: int = field(Int32, map_key=True, entity="brokerId")
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, versions="1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition(Struct):
    """One partition with leader, replicas, ISR and offline replicas."""

    error_code: int = field(Int16)
    partition_index: int = field(Int32)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32, versions="7+", default=-1, ignorable=True)
    replica_nodes: list[int] = field(Array(Int32), entity="brokerId")
    isr_nodes: list[int] = field(Array(Int32), entity="brokerId")
    offline_replicas: list[int] = field(Array(Int32), versions="5+", ignorable=True, entity="brokerId")


@struct
class MetadataResponseTopic(Struct):
    """One topic with its partitions, or an error."""

    error_code: int = field(Int16)
    name: str | None = field(String, nullable="12+", map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
    is_internal: bool = field(Bool, versions="1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = field(Array(MetadataResponsePartition))
    topic_authorized_operations: int = field(Int32, versions="8+", default=-2147483648)


@message(api_key=ApiKey.METADATA, versions="0-13", flexible="9+")
class MetadataResponse(Message):
    """The response: the brokers of the cluster, and leader and replicas of each partition."""

    throttle_time_ms: int = field(Int32, versions="3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = field(Array(MetadataResponseBroker))
    cluster_id: str | None = field(String, versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = field(Int32, versions="1+", default=-1, ignorable=True, entity="brokerId")
    topics: list[MetadataResponseTopic] = field(Array(MetadataResponseTopic))
    cluster_authorized_operations: int = field(Int32, versions="8-10", default=-2147483648)
    error_code: int = field(Int16, versions="13+", ignorable=True)
