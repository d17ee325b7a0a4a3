"""AddOffsetsToTxn (api key 25): add the offsets of a group to a transaction.

Mirrors AddOffsetsToTxnRequest and AddOffsetsToTxnResponse; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Int16, Int32, Int64, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest(Message):
    """The request: add the offsets of a group to a transaction."""

    transactional_id: str = field(String, entity="transactionalId")
    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int16)
    group_id: str = field(String, entity="groupId")


@message(api_key=ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse(Message):
    """The response: one error code."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
