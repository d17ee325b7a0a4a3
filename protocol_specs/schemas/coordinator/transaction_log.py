"""TransactionLog: the state of a transactional id.

Record type 0 of __transaction_state.

Mirrors TransactionLogKey and TransactionLogValue; KIP-98, KIP-890.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=0, versions="0")
class TransactionLogKey(Message):
    """The key: the state of a transactional id."""

    transactional_id: str = field(String)


@struct
class PartitionsSchema(Struct):
    """The partitions of one topic in the transaction."""

    topic: str = field(String)
    partition_ids: list[int] = field(Array(Int32))


@message(kind=Kind.COORDINATOR_VALUE, record_type=0, versions="0-1", flexible="1+")
class TransactionLogValue(Message):
    """The value: the state of a transactional id."""

    producer_id: int = field(Int64)
    previous_producer_id: int = field(Int64, versions="1+", tag=0, tagged="1+", default=-1)
    next_producer_id: int = field(Int64, versions="1+", tag=1, tagged="1+", default=-1)
    producer_epoch: int = field(Int16)
    next_producer_epoch: int = field(Int16, versions="1+", tag=3, tagged="1+", default=-1)
    transaction_timeout_ms: int = field(Int32)
    transaction_status: int = field(Int8)
    transaction_partitions: list[PartitionsSchema] | None = field(Array(PartitionsSchema), nullable="0+")
    transaction_last_update_timestamp_ms: int = field(Int64)
    transaction_start_timestamp_ms: int = field(Int64)
    client_transaction_version: int = field(Int16, versions="1+", tag=2, tagged="1+")
