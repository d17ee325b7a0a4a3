"""ClearElrRecord: the eligible leader replicas of a topic, or of all topics, are removed.

Record type 28 of the metadata log.

Mirrors ClearElrRecord; KIP-966.
"""

from __future__ import annotations

from protocol_specs.fields import String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=28, versions="0", flexible="0+")
class ClearElrRecord(Message):
    """The record: the eligible leader replicas of a topic, or of all topics, are removed."""

    topic_name: str = field(String, entity="topicName")
