"""UserScramCredentialRecord: a SCRAM credential.

Record type 11 of the metadata log.

Mirrors UserScramCredentialRecord; KIP-900.
"""

from __future__ import annotations

from protocol_specs.fields import Bytes, Int8, Int32, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=11, versions="0", flexible="0+")
class UserScramCredentialRecord(Message):
    """The record: a SCRAM credential."""

    name: str = field(String)
    mechanism: int = field(Int8)
    salt: bytes = field(Bytes)
    stored_key: bytes = field(Bytes)
    server_key: bytes = field(Bytes)
    iterations: int = field(Int32)
