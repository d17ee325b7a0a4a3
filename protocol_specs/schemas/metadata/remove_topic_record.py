"""RemoveTopicRecord: a topic is deleted.

Record type 9 of the metadata log.

Mirrors RemoveTopicRecord; KIP-631.
"""

from __future__ import annotations

from protocol_specs.fields import Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=9, versions="0", flexible="0+")
class RemoveTopicRecord(Message):
    """The record: a topic is deleted."""

    topic_id: bytes = field(Uuid)
