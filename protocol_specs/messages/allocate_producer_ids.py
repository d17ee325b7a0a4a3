"""AllocateProducerIds (api key 67): a broker requests a block of producer ids from the controller.

Mirrors AllocateProducerIdsRequest and AllocateProducerIdsResponse; KIP-730.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Int16, Int32, Int64
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.ALLOCATE_PRODUCER_IDS, versions="0", flexible="0+")
class AllocateProducerIdsRequest(Message):
    """The request: a broker requests a block of producer ids from the controller."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, default=-1)


@message(api_key=ApiKey.ALLOCATE_PRODUCER_IDS, versions="0", flexible="0+")
class AllocateProducerIdsResponse(Message):
    """The response: the first producer id of the block and its length."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    producer_id_start: int = field(Int64, entity="producerId")
    producer_id_len: int = field(Int32)
