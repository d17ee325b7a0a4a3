"""The offsets of a consumer and its membership in a group, as a transaction commits them.

Mirrors OffsetAndMetadata and ConsumerGroupMetadata.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConsumerGroupMetadata", "OffsetAndMetadata"]


@dataclass(slots=True, kw_only=True, frozen=True)
class OffsetAndMetadata:
    """The next offset to consume, not the last one consumed; `leader_epoch` is the last consumed record's."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


@dataclass(slots=True, kw_only=True, frozen=True)
class ConsumerGroupMetadata:
    """A consumer's membership, by which the coordinator fences consumers that have left the group (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
