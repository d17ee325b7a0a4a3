"""Offsets, membership and listeners of consumer groups, as applications see them.

Mirrors OffsetAndMetadata, ConsumerGroupMetadata, ConsumerRebalanceListener and SubscriptionPattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.records import TopicPartition

__all__ = [
    "ConsumerGroupMetadata",
    "GroupMembershipOperation",
    "OffsetAndMetadata",
    "RebalanceListener",
    "SubscriptionPattern",
]


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


class GroupMembershipOperation(Enum):
    """The effect of `close` on the group (KIP-1092). Mirrors CloseOptions.GroupMembershipOperation."""

    DEFAULT = auto()
    """A dynamic member leaves, a static one remains."""
    LEAVE_GROUP = auto()
    REMAIN_IN_GROUP = auto()


@dataclass(slots=True, frozen=True)
class SubscriptionPattern:
    """A regular expression that brokers evaluate (RE2J), for group.protocol=consumer."""

    pattern: str


class RebalanceListener:
    """Callbacks of a rebalance, called within `poll`, `unsubscribe` and `close` of the consumer.

    Override the methods that are needed; with AsyncConsumer they may be coroutines. Within them the consumer's methods
    may be called. Mirrors ConsumerRebalanceListener.
    """

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> object:
        """Called before partitions are given up: the last time at which their offsets can be committed."""

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> object:
        """Called after a rebalance with the partitions that are new; also if there are none."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> object:
        """Called when other members may have the partitions already; calls on_partitions_revoked by default."""
        return self.on_partitions_revoked(partitions)


NO_LISTENER: Final = RebalanceListener()
