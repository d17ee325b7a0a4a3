"""DescribeTransactions (api key 65): describe the state of transactional ids.

Mirrors DescribeTransactionsRequest and DescribeTransactionsResponse; KIP-664.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+")
class DescribeTransactionsRequest(Message):
    """The request: describe the state of transactional ids."""

    transactional_ids: list[str] = field(Array(String), entity="transactionalId")


@struct
class TopicData(Struct):
    """The partitions of one topic in a transaction."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@struct
class TransactionState(Struct):
    """The state of one transactional id, or an error."""

    error_code: int = field(Int16)
    transactional_id: str = field(String, entity="transactionalId")
    transaction_state: str = field(String)
    transaction_timeout_ms: int = field(Int32)
    transaction_start_time_ms: int = field(Int64)
    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int16)
    topics: list[TopicData] = field(Array(TopicData))


@message(api_key=ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+")
class DescribeTransactionsResponse(Message):
    """The response: the state or an error per transactional id."""

    throttle_time_ms: int = field(Int32)
    transaction_states: list[TransactionState] = field(Array(TransactionState))
