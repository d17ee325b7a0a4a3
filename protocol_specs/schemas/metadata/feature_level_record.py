"""FeatureLevelRecord: a feature level is finalized.

Record type 12 of the metadata log.

Mirrors FeatureLevelRecord; KIP-778.
"""

from __future__ import annotations

from protocol_specs.fields import Int16, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=12, versions="0", flexible="0+")
class FeatureLevelRecord(Message):
    """The record: a feature level is finalized."""

    name: str = field(String)
    feature_level: int = field(Int16)
