"""AddPartitionsToTxn (api key 24): add partitions to a transaction, or verify that they are in one.

Mirrors AddPartitionsToTxnRequest and AddPartitionsToTxnResponse; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AddPartitionsToTxnTopic(Struct):
    """The partitions of one topic."""

    name: str = field(String, versions="4+", map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32), versions="4+")


@struct
class AddPartitionsToTxnTransaction(Struct):
    """One transaction with the partitions to add or to verify (KIP-890)."""

    transactional_id: str = field(String, versions="4+", map_key=True, entity="transactionalId")
    producer_id: int = field(Int64, versions="4+", entity="producerId")
    producer_epoch: int = field(Int16, versions="4+")
    verify_only: bool = field(Bool, versions="4+")
    topics: list[AddPartitionsToTxnTopic] = field(Array(AddPartitionsToTxnTopic), versions="4+")


@struct
class RequestAddPartitionsToTxnTopic(Struct):
    """The partitions of one topic, up to v3."""

    name: str = field(String, versions="0-3", map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32), versions="0-3")


@message(api_key=ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest(Message):
    """The request: add partitions to a transaction, or verify that they are in one."""

    transactions: list[AddPartitionsToTxnTransaction] = field(Array(AddPartitionsToTxnTransaction), versions="4+")
    v3_and_below_transactional_id: str = field(String, versions="0-3", entity="transactionalId")
    v3_and_below_producer_id: int = field(Int64, versions="0-3", entity="producerId")
    v3_and_below_producer_epoch: int = field(Int16, versions="0-3")
    v3_and_below_topics: list[RequestAddPartitionsToTxnTopic] = field(
        Array(RequestAddPartitionsToTxnTopic), versions="0-3"
    )


@struct
class AddPartitionsToTxnPartitionResult(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32, versions="4+", map_key=True)
    partition_error_code: int = field(Int16, versions="4+")


@struct
class AddPartitionsToTxnTopicResult(Struct):
    """The results of one topic."""

    name: str = field(String, versions="4+", map_key=True, entity="topicName")
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(
        Array(AddPartitionsToTxnPartitionResult), versions="4+"
    )


@struct
class AddPartitionsToTxnResult(Struct):
    """The results of one transaction."""

    transactional_id: str = field(String, versions="4+", map_key=True, entity="transactionalId")
    topic_results: list[AddPartitionsToTxnTopicResult] = field(Array(AddPartitionsToTxnTopicResult), versions="4+")


@struct
class ResponseAddPartitionsToTxnPartitionResult(Struct):
    """The result of one partition, up to v3."""

    partition_index: int = field(Int32, versions="0-3", map_key=True)
    partition_error_code: int = field(Int16, versions="0-3")


@struct
class ResponseAddPartitionsToTxnTopicResult(Struct):
    """The results of one topic, up to v3."""

    name: str = field(String, versions="0-3", map_key=True, entity="topicName")
    results_by_partition: list[ResponseAddPartitionsToTxnPartitionResult] = field(
        Array(ResponseAddPartitionsToTxnPartitionResult), versions="0-3"
    )


@message(api_key=ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse(Message):
    """The response: one result per partition; by transaction from v4 on."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16, versions="4+", ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(Array(AddPartitionsToTxnResult), versions="4+")
    results_by_topic_v3_and_below: list[ResponseAddPartitionsToTxnTopicResult] = field(
        Array(ResponseAddPartitionsToTxnTopicResult), versions="0-3"
    )
