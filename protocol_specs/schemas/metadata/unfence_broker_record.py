"""UnfenceBrokerRecord: a broker is no longer fenced; written until 3.0.

Record type 8 of the metadata log.

Mirrors UnfenceBrokerRecord; KIP-631.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=8, versions="0", flexible="0+")
class UnfenceBrokerRecord(Message):
    """The record: a broker is no longer fenced; written until 3.0."""

    id: int = field(Int32, entity="brokerId")
    epoch: int = field(Int64)
