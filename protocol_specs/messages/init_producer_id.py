"""InitProducerId (api key 22): obtain a producer id and epoch, for idempotence and transactions.

Mirrors InitProducerIdRequest and InitProducerIdResponse; KIP-98, KIP-360, KIP-890, KIP-939.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Bool, Int16, Int32, Int64, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.INIT_PRODUCER_ID, versions="0-6", flexible="2+", unstable="6")
class InitProducerIdRequest(Message):
    """The request: obtain a producer id and epoch, for idempotence and transactions."""

    transactional_id: str | None = field(String, nullable="0+", entity="transactionalId")
    transaction_timeout_ms: int = field(Int32)
    producer_id: int = field(Int64, versions="3+", default=-1, entity="producerId")
    producer_epoch: int = field(Int16, versions="3+", default=-1)
    enable2_pc: bool = field(Bool, versions="6+")
    keep_prepared_txn: bool = field(Bool, versions="6+")


@message(api_key=ApiKey.INIT_PRODUCER_ID, versions="0-6", flexible="2+", unstable="6")
class InitProducerIdResponse(Message):
    """The response: the producer id and epoch."""

    throttle_time_ms: int = field(Int32, ignorable=True)
    error_code: int = field(Int16)
    producer_id: int = field(Int64, default=-1, entity="producerId")
    producer_epoch: int = field(Int16)
    ongoing_txn_producer_id: int = field(Int64, versions="6+", default=-1, entity="producerId")
    ongoing_txn_producer_epoch: int = field(Int16, versions="6+", default=-1)
