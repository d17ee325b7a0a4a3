"""ProducerIdsRecord: a block of producer ids was given to a broker.

Record type 15 of the metadata log.

Mirrors ProducerIdsRecord; KIP-730.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=15, versions="0", flexible="0+")
class ProducerIdsRecord(Message):
    """The record: a block of producer ids was given to a broker."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, default=-1)
    next_producer_id: int = field(Int64)
