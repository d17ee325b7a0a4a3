"""FenceBrokerRecord: a broker is fenced; written until 3.0.

Record type 7 of the metadata log.

Mirrors FenceBrokerRecord; KIP-631.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=7, versions="0", flexible="0+")
class FenceBrokerRecord(Message):
    """The record: a broker is fenced; written until 3.0."""

    id: int = field(Int32, entity="brokerId")
    epoch: int = field(Int64)
