"""ShareGroupTargetAssignmentMetadata: the epoch of a share group's target assignment.

Record type 12 of __consumer_offsets.

Mirrors ShareGroupTargetAssignmentMetadataKey and ShareGroupTargetAssignmentMetadataValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=12, versions="0")
class ShareGroupTargetAssignmentMetadataKey(Message):
    """The key: the epoch of a share group's target assignment."""

    group_id: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue(Message):
    """The value: the epoch of a share group's target assignment."""

    assignment_epoch: int = field(Int32)
    assignment_timestamp: int = field(Int64, tag=0, tagged="0+", ignorable=True)
