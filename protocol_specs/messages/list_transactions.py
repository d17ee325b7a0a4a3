"""ListTransactions (api key 66): list the transactional ids that a broker coordinates.

Mirrors ListTransactionsRequest and ListTransactionsResponse; KIP-664, KIP-994, KIP-1152.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+")
class ListTransactionsRequest(Message):
    """The request: list the transactional ids that a broker coordinates."""

    state_filters: list[str] = field(Array(String))
    producer_id_filters: list[int] = field(Array(Int64), entity="producerId")
    duration_filter: int = field(Int64, versions="1+", default=-1)
    transactional_id_pattern: str | None = field(String, versions="2+", nullable="2+", default=None)


@struct
class TransactionState(Struct):
    """One transactional id with its producer id and state."""

    transactional_id: str = field(String, entity="transactionalId")
    producer_id: int = field(Int64, entity="producerId")
    transaction_state: str = field(String)


@message(api_key=ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+")
class ListTransactionsResponse(Message):
    """The response: the transactional ids with their state."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    unknown_state_filters: list[str] = field(Array(String))
    transaction_states: list[TransactionState] = field(Array(TransactionState))
