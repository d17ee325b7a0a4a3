"""ControlRecordTypeSchema: the key of a control record, behind its version.

Mirrors org.apache.kafka.common.record.ControlRecordType.
"""

from __future__ import annotations

from protocol_specs.fields import Int16
from protocol_specs.message import Message, field, message


@message(versions="0")
class ControlRecordTypeSchema(Message):
    """The key of a control record, behind its version."""

    type: int = field(Int16)
