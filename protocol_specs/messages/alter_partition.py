"""AlterPartition (api key 56): a partition leader proposes another in-sync replica set.

Mirrors AlterPartitionRequest and AlterPartitionResponse; KIP-497, KIP-704, KIP-841, KIP-903.
Once named AlterIsr.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class BrokerState(Struct):
    """One replica of the proposed ISR with its broker epoch (KIP-903)."""

    broker_id: int = field(Int32, versions="3+", entity="brokerId")
    broker_epoch: int = field(Int64, versions="3+", default=-1)


@struct
class PartitionData(Struct):
    """The proposed ISR and recovery state of one partition."""

    partition_index: int = field(Int32)
    leader_epoch: int = field(Int32)
    new_isr: list[int] = field(Array(Int32), versions="0-2", entity="brokerId")
    new_isr_with_epochs: list[BrokerState] = field(Array(BrokerState), versions="3+")
    leader_recovery_state: int = field(Int8, versions="1+")
    partition_epoch: int = field(Int32)


@struct
class TopicData(Struct):
    """The proposals for one topic."""

    topic_id: bytes = field(Uuid, versions="2+", ignorable=True)
    topic_name: str = field(String, versions="0-1", ignorable=True, entity="topicName")
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.ALTER_PARTITION, versions="0-3", flexible="0+")
class AlterPartitionRequest(Message):
    """The request: a partition leader proposes another in-sync replica set."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, default=-1)
    topics: list[TopicData] = field(Array(TopicData))


@struct
class ResponsePartitionData(Struct):
    """The state of one partition at the controller, or an error."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32)
    isr: list[int] = field(Array(Int32), entity="brokerId")
    leader_recovery_state: int = field(Int8, versions="1+", ignorable=True)
    partition_epoch: int = field(Int32)


@struct
class ResponseTopicData(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid, versions="2+", ignorable=True)
    topic_name: str = field(String, versions="0-1", ignorable=True, entity="topicName")
    partitions: list[ResponsePartitionData] = field(Array(ResponsePartitionData))


@message(api_key=ApiKey.ALTER_PARTITION, versions="0-3", flexible="0+")
class AlterPartitionResponse(Message):
    """The response: the state of each partition after the change, or an error per partition."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    topics: list[ResponseTopicData] = field(Array(ResponseTopicData))
