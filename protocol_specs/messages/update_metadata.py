"""UpdateMetadata (api key 6): the controller sends leaders, endpoints and topic ids to a broker (ZooKeeper mode).

Mirrors UpdateMetadataRequest and UpdateMetadataResponse; KIP-4, KIP-103, KIP-380, KIP-516, KIP-866.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class UpdateMetadataPartitionState(Struct):
    """The state of one partition, up to v4."""

    topic_name: str = field(String, versions="0-4", ignorable=True, entity="topicName")
    partition_index: int = field(Int32, versions="0-4")
    controller_epoch: int = field(Int32, versions="0-4")
    leader: int = field(Int32, versions="0-4", entity="brokerId")
    leader_epoch: int = field(Int32, versions="0-4")
    isr: list[int] = field(Array(Int32), versions="0-4", entity="brokerId")
    zk_version: int = field(Int32, versions="0-4")
    replicas: list[int] = field(Array(Int32), versions="0-4", entity="brokerId")
    offline_replicas: list[int] = field(Array(Int32), versions="4", ignorable=True, entity="brokerId")


@struct
class RequestUpdateMetadataPartitionState(Struct):
    """The state of one partition: leader, ISR and replicas."""

    partition_index: int = field(Int32, versions="5+")
    controller_epoch: int = field(Int32, versions="5+")
    leader: int = field(Int32, versions="5+", entity="brokerId")
    leader_epoch: int = field(Int32, versions="5+")
    isr: list[int] = field(Array(Int32), versions="5+", entity="brokerId")
    zk_version: int = field(Int32, versions="5+")
    replicas: list[int] = field(Array(Int32), versions="5+", entity="brokerId")
    offline_replicas: list[int] = field(Array(Int32), versions="5+", ignorable=True, entity="brokerId")


@struct
class UpdateMetadataTopicState(Struct):
    """The partition states of one topic."""

    topic_name: str = field(String, versions="5+", entity="topicName")
    topic_id: bytes = field(Uuid, versions="7+", ignorable=True)
    partition_states: list[RequestUpdateMetadataPartitionState] = field(
        Array(RequestUpdateMetadataPartitionState), versions="5+"
    )


@struct
class UpdateMetadataEndpoint(Struct):
    """One endpoint of a live broker."""

    port: int = field(Int32, versions="1+")
    host: str = field(String, versions="1+")
    listener: str = field(String, versions="3+", ignorable=True)
    security_protocol: int = field(Int16, versions="1+")


@struct
class UpdateMetadataBroker(Struct):
    """One live broker with its endpoints and rack."""

    id: int = field(Int32, entity="brokerId")
    v0_host: str = field(String, versions="0", ignorable=True)
    v0_port: int = field(Int32, versions="0", ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = field(Array(UpdateMetadataEndpoint), versions="1+", ignorable=True)
    rack: str | None = field(String, versions="2+", nullable="2+", ignorable=True)


@message(api_key=ApiKey.UPDATE_METADATA, versions="0-8", flexible="6+")
class UpdateMetadataRequest(Message):
    """The request: the controller sends leaders, endpoints and topic ids to a broker (ZooKeeper mode)."""

    controller_id: int = field(Int32, entity="brokerId")
    is_k_raft_controller: bool = field(Bool, versions="8+")
    type: int = field(Int8, versions="8+", tag=0, tagged="8+")
    controller_epoch: int = field(Int32)
    broker_epoch: int = field(Int64, versions="5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(
        Array(UpdateMetadataPartitionState), versions="0-4"
    )
    topic_states: list[UpdateMetadataTopicState] = field(Array(UpdateMetadataTopicState), versions="5+")
    live_brokers: list[UpdateMetadataBroker] = field(Array(UpdateMetadataBroker))


@message(api_key=ApiKey.UPDATE_METADATA, versions="0-8", flexible="6+")
class UpdateMetadataResponse(Message):
    """The response: one error code."""

    error_code: int = field(Int16)
