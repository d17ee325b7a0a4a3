"""The interface of a group to its consumer, in either protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata
    from broker_client.core.consumer.call_waits import CallTimer
    from broker_client.records import TopicPartition

__all__ = ["ConsumerGroup"]


class ConsumerGroup(Protocol):
    """Implemented by ClassicGroup and by BrokerAssignedGroup (KIP-848)."""

    @property
    def metadata(self) -> ConsumerGroupMetadata:
        """The membership, for offsets that a transaction commits."""
        ...

    async def poll(self, timer: CallTimer) -> bool:
        """Do what a poll has to do before records are read; return False when the member has to wait."""
        ...

    async def fetch_committed(
        self, partitions: Sequence[TopicPartition], timer: CallTimer
    ) -> dict[TopicPartition, OffsetAndMetadata | None] | None:
        """Return committed offsets; None when the time is over."""
        ...

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timer: CallTimer) -> bool:
        """Commit and wait; return False when the time is over."""
        ...

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], callback: Callable[..., object] | None
    ) -> None:
        """Send a commit; its callback is called by a later call."""
        ...

    async def unsubscribed(self, timer: CallTimer) -> None:
        """Give up all partitions and leave the group."""
        ...

    def assigned_by_hand(self) -> None:
        """Commit the positions of the earlier assignment if enable.auto.commit is set."""
        ...

    def enforce_rebalance(self, reason: str) -> None:
        """Join again at the next poll."""
        ...

    def next_due_ms(self) -> int:
        """The milliseconds until a poll has something to do."""
        ...

    async def close(self, timer: CallTimer) -> None:
        """Commit, call the listener and leave."""
        ...
