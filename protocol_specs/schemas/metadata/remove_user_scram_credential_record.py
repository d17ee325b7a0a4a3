"""RemoveUserScramCredentialRecord: a SCRAM credential is deleted.

Record type 22 of the metadata log.

Mirrors RemoveUserScramCredentialRecord; KIP-900.
"""

from __future__ import annotations

from protocol_specs.fields import Int8, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord(Message):
    """The record: a SCRAM credential is deleted."""

    name: str = field(String)
    mechanism: int = field(Int8)
