"""DelegationTokenRecord: a delegation token.

Record type 10 of the metadata log.

Mirrors DelegationTokenRecord; KIP-900.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int64, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=10, versions="0", flexible="0+")
class DelegationTokenRecord(Message):
    """The record: a delegation token."""

    owner: str = field(String)
    requester: str = field(String)
    renewers: list[str] = field(Array(String))
    issue_timestamp: int = field(Int64)
    max_timestamp: int = field(Int64)
    expiration_timestamp: int = field(Int64)
    token_id: str = field(String)
