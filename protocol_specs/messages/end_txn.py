"""EndTxn (api key 26): commit or abort a transaction.

Mirrors EndTxnRequest and EndTxnResponse; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Bool, Int16, Int32, Int64, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.END_TXN, versions="0-5", flexible="3+")
class EndTxnRequest(Message):
    """The request: commit or abort a transaction."""

    transactional_id: str = field(String, entity="transactionalId")
    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int16)
    committed: bool = field(Bool)


@message(api_key=ApiKey.END_TXN, versions="0-5", flexible="3+")
class EndTxnResponse(Message):
    """The response: one error code; from v5 on also the producer id and epoch for the next transaction (KIP-890)."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    producer_id: int = field(Int64, versions="5+", default=-1, ignorable=True, entity="producerId")
    producer_epoch: int = field(Int16, versions="5+", default=-1, ignorable=True)
