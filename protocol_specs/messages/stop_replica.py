"""StopReplica (api key 5): the controller stops replicas of a broker, and may delete them (ZooKeeper mode).

Mirrors StopReplicaRequest and StopReplicaResponse; KIP-380, KIP-570, KIP-866.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class StopReplicaPartitionV0(Struct):
    """One replica to stop, in v0."""

    topic_name: str = field(String, versions="0", entity="topicName")
    partition_index: int = field(Int32, versions="0")


@struct
class StopReplicaTopicV1(Struct):
    """The replicas of one topic to stop, in v1 and v2."""

    name: str = field(String, versions="1-2", entity="topicName")
    partition_indexes: list[int] = field(Array(Int32), versions="1-2")


@struct
class StopReplicaPartitionState(Struct):
    """One replica to stop, and whether to delete it."""

    partition_index: int = field(Int32, versions="3+")
    leader_epoch: int = field(Int32, versions="3+", default=-1)
    delete_partition: bool = field(Bool, versions="3+")


@struct
class StopReplicaTopicState(Struct):
    """The replicas of one topic to stop."""

    topic_name: str = field(String, versions="3+", entity="topicName")
    partition_states: list[StopReplicaPartitionState] = field(Array(StopReplicaPartitionState), versions="3+")


@message(api_key=ApiKey.STOP_REPLICA, versions="0-4", flexible="2+")
class StopReplicaRequest(Message):
    """The request: the controller stops replicas of a broker, and may delete them (ZooKeeper mode)."""

    controller_id: int = field(Int32, entity="brokerId")
    is_k_raft_controller: bool = field(Bool, versions="4+")
    controller_epoch: int = field(Int32)
    broker_epoch: int = field(Int64, versions="1+", default=-1, ignorable=True)
    delete_partitions: bool = field(Bool, versions="0-2")
    ungrouped_partitions: list[StopReplicaPartitionV0] = field(Array(StopReplicaPartitionV0), versions="0")
    topics: list[StopReplicaTopicV1] = field(Array(StopReplicaTopicV1), versions="1-2")
    topic_states: list[StopReplicaTopicState] = field(Array(StopReplicaTopicState), versions="3+")


@struct
class StopReplicaPartitionError(Struct):
    """The result of one replica."""

    topic_name: str = field(String, entity="topicName")
    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@message(api_key=ApiKey.STOP_REPLICA, versions="0-4", flexible="2+")
class StopReplicaResponse(Message):
    """The response: one error code per partition."""

    error_code: int = field(Int16)
    partition_errors: list[StopReplicaPartitionError] = field(Array(StopReplicaPartitionError))
