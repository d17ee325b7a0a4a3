"""UnregisterBrokerRecord: the registration of a broker is removed.

Record type 1 of the metadata log.

Mirrors UnregisterBrokerRecord; KIP-631.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=1, versions="0", flexible="0+")
class UnregisterBrokerRecord(Message):
    """The record: the registration of a broker is removed."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64)
