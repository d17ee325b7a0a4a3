"""Produce (api key 0): append record batches to partitions.

Mirrors ProduceRequest and ProduceResponse; KIP-98, KIP-467, KIP-951, KIP-516.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, Records, String, Uuid
from protocol_specs.message import Message, RecordsBuffer, Struct, field, message, struct


@struct
class PartitionProduceData(Struct):
    """The record batches to append to one partition."""

    index: int = field(Int32)
    records: RecordsBuffer | None = field(Records, nullable="0+")


@struct
class TopicProduceData(Struct):
    """The record batches for one topic."""

    name: str = field(String, versions="0-12", ignorable=True, map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="13+", ignorable=True, map_key=True)
    partition_data: list[PartitionProduceData] = field(Array(PartitionProduceData))


@message(api_key=ApiKey.PRODUCE, versions="0-13", flexible="9+")
class ProduceRequest(Message):
    """The request: append record batches to partitions."""

    transactional_id: str | None = field(String, versions="3+", nullable="3+", default=None, entity="transactionalId")
    acks: int = field(Int16)
    timeout_ms: int = field(Int32)
    topic_data: list[TopicProduceData] = field(Array(TopicProduceData))


@struct
class BatchIndexAndErrorMessage(Struct):
    """A record that made the leader reject the batch, with the reason (KIP-467)."""

    batch_index: int = field(Int32, versions="8+")
    batch_index_error_message: str | None = field(String, versions="8+", nullable="8+", default=None)


@struct
class LeaderIdAndEpoch(Struct):
    """The current leader, sent with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951)."""

    leader_id: int = field(Int32, versions="10+", default=-1, entity="brokerId")
    leader_epoch: int = field(Int32, versions="10+", default=-1)


@struct
class PartitionProduceResponse(Struct):
    """The base offset of the appended batch, or an error."""

    index: int = field(Int32)
    error_code: int = field(Int16)
    base_offset: int = field(Int64)
    log_append_time_ms: int = field(Int64, versions="2+", default=-1, ignorable=True)
    log_start_offset: int = field(Int64, versions="5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field(
        Array(BatchIndexAndErrorMessage), versions="8+", ignorable=True
    )
    error_message: str | None = field(String, versions="8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, versions="10+", tag=0, tagged="10+")


@struct
class TopicProduceResponse(Struct):
    """The results of one topic."""

    name: str = field(String, versions="0-12", ignorable=True, map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="13+", ignorable=True, map_key=True)
    partition_responses: list[PartitionProduceResponse] = field(Array(PartitionProduceResponse))


@struct
class NodeEndpoint(Struct):
    """The address of a new leader, so that a client needs no Metadata request (KIP-951)."""

    node_id: int = field(Int32, versions="10+", map_key=True, entity="brokerId")
    host: str = field(String, versions="10+")
    port: int = field(Int32, versions="10+")
    rack: str | None = field(String, versions="10+", nullable="10+", default=None)


@message(api_key=ApiKey.PRODUCE, versions="0-13", flexible="9+")
class ProduceResponse(Message):
    """The response: the base offset or an error per partition."""

    responses: list[TopicProduceResponse] = field(Array(TopicProduceResponse))
    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="10+", tag=0, tagged="10+")
