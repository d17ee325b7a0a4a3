"""ConsumerGroupRegularExpression: the topics that match a regular expression of a consumer group.

Record type 16 of __consumer_offsets.

Mirrors ConsumerGroupRegularExpressionKey and ConsumerGroupRegularExpressionValue; KIP-848.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int64, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=16, versions="0")
class ConsumerGroupRegularExpressionKey(Message):
    """The key: the topics that match a regular expression of a consumer group."""

    group_id: str = field(String)
    regular_expression: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue(Message):
    """The value: the topics that match a regular expression of a consumer group."""

    topics: list[str] = field(Array(String))
    version: int = field(Int64)
    timestamp: int = field(Int64)
