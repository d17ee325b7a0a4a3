"""RemoveDelegationTokenRecord: a delegation token is deleted.

Record type 26 of the metadata log.

Mirrors RemoveDelegationTokenRecord; KIP-900.
"""

from __future__ import annotations

from protocol_specs.fields import String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord(Message):
    """The record: a delegation token is deleted."""

    token_id: str = field(String)
