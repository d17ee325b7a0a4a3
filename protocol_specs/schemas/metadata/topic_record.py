"""TopicRecord: a topic.

Record type 2 of the metadata log.

Mirrors TopicRecord; KIP-631.
"""

from __future__ import annotations

from protocol_specs.fields import String, Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=2, versions="0", flexible="0+")
class TopicRecord(Message):
    """The record: a topic."""

    name: str = field(String, entity="topicName")
    topic_id: bytes = field(Uuid)
