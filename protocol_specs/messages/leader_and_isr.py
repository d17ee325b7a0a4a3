"""LeaderAndIsr (api key 4): the controller makes a broker leader or follower of partitions (ZooKeeper mode).

Mirrors LeaderAndIsrRequest and LeaderAndIsrResponse; KIP-4, KIP-380, KIP-570, KIP-704, KIP-866.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class LeaderAndIsrPartitionState(Struct):
    """The state of one partition, up to v1."""

    topic_name: str = field(String, versions="0-1", ignorable=True, entity="topicName")
    partition_index: int = field(Int32, versions="0-1")
    controller_epoch: int = field(Int32, versions="0-1")
    leader: int = field(Int32, versions="0-1", entity="brokerId")
    leader_epoch: int = field(Int32, versions="0-1")
    isr: list[int] = field(Array(Int32), versions="0-1", entity="brokerId")
    partition_epoch: int = field(Int32, versions="0-1")
    replicas: list[int] = field(Array(Int32), versions="0-1", entity="brokerId")
    is_new: bool = field(Bool, versions="1", ignorable=True)


@struct
class RequestLeaderAndIsrPartitionState(Struct):
    """The state of one partition: leader, ISR, replicas and recovery state."""

    partition_index: int = field(Int32, versions="2+")
    controller_epoch: int = field(Int32, versions="2+")
    leader: int = field(Int32, versions="2+", entity="brokerId")
    leader_epoch: int = field(Int32, versions="2+")
    isr: list[int] = field(Array(Int32), versions="2+", entity="brokerId")
    partition_epoch: int = field(Int32, versions="2+")
    replicas: list[int] = field(Array(Int32), versions="2+", entity="brokerId")
    adding_replicas: list[int] = field(Array(Int32), versions="3+", ignorable=True, entity="brokerId")
    removing_replicas: list[int] = field(Array(Int32), versions="3+", ignorable=True, entity="brokerId")
    is_new: bool = field(Bool, versions="2+", ignorable=True)
    leader_recovery_state: int = field(Int8, versions="6+")


@struct
class LeaderAndIsrTopicState(Struct):
    """The partition states of one topic."""

    topic_name: str = field(String, versions="2+", entity="topicName")
    topic_id: bytes = field(Uuid, versions="5+", ignorable=True)
    partition_states: list[RequestLeaderAndIsrPartitionState] = field(
        Array(RequestLeaderAndIsrPartitionState), versions="2+"
    )


@struct
class LeaderAndIsrLiveLeader(Struct):
    """The address of a broker that leads one of the partitions."""

    broker_id: int = field(Int32, entity="brokerId")
    host_name: str = field(String)
    port: int = field(Int32)


@message(api_key=ApiKey.LEADER_AND_ISR, versions="0-7", flexible="4+")
class LeaderAndIsrRequest(Message):
    """The request: the controller makes a broker leader or follower of partitions (ZooKeeper mode)."""

    controller_id: int = field(Int32, entity="brokerId")
    is_k_raft_controller: bool = field(Bool, versions="7+")
    controller_epoch: int = field(Int32)
    broker_epoch: int = field(Int64, versions="2+", default=-1, ignorable=True)
    type: int = field(Int8, versions="5+")
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(
        Array(LeaderAndIsrPartitionState), versions="0-1"
    )
    topic_states: list[LeaderAndIsrTopicState] = field(Array(LeaderAndIsrTopicState), versions="2+")
    live_leaders: list[LeaderAndIsrLiveLeader] = field(Array(LeaderAndIsrLiveLeader))


@struct
class LeaderAndIsrPartitionError(Struct):
    """The result of one partition, up to v4."""

    topic_name: str = field(String, versions="0-4", ignorable=True, entity="topicName")
    partition_index: int = field(Int32, versions="0-4")
    error_code: int = field(Int16, versions="0-4")


@struct
class ResponseLeaderAndIsrPartitionError(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32, versions="5+")
    error_code: int = field(Int16, versions="5+")


@struct
class LeaderAndIsrTopicError(Struct):
    """The results of one topic, by its id."""

    topic_id: bytes = field(Uuid, versions="5+", map_key=True)
    partition_errors: list[ResponseLeaderAndIsrPartitionError] = field(
        Array(ResponseLeaderAndIsrPartitionError), versions="5+"
    )


@message(api_key=ApiKey.LEADER_AND_ISR, versions="0-7", flexible="4+")
class LeaderAndIsrResponse(Message):
    """The response: one error code per partition."""

    error_code: int = field(Int16)
    partition_errors: list[LeaderAndIsrPartitionError] = field(Array(LeaderAndIsrPartitionError), versions="0-4")
    topics: list[LeaderAndIsrTopicError] = field(Array(LeaderAndIsrTopicError), versions="5+")
