"""The interface of a group to its consumer, and what groups of both protocols share: the offsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from broker_client.core.groups.coordinator_finder import CoordinatorFinder
from broker_client.core.groups.rebalance_callbacks import RebalanceCallbacks
from broker_client.core.groups.topic_snapshots import TopicSnapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.consumer_groups import ConsumerGroupMetadata, GroupMembershipOperation, OffsetAndMetadata
    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.groups.committed_offsets import CommittedOffsets
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.groups.offset_commits import CommitObserver, OffsetCommits
    from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.records import TopicPartition

__all__ = ["ConsumerGroup"]


class ConsumerGroup(ABC):
    """Implemented by ClassicGroup and by BrokerAssignedGroup (KIP-848)."""

    _commits: OffsetCommits
    _committed: CommittedOffsets

    def __init__(
        self,
        core: ClientCore,
        options: GroupOptions,
        subscriptions: SubscriptionState,
        waits: CallWaits,
        run_callback: CallbackRunner,
        metrics: CoordinatorMetrics,
    ) -> None:
        self._core = core
        self._options = options
        self._subscriptions = subscriptions
        self._waits = waits
        self._finder = CoordinatorFinder(core, options, waits)
        self._metrics = metrics
        self._callbacks = RebalanceCallbacks(subscriptions, run_callback, metrics)
        self._snapshots = TopicSnapshots(
            core.metadata, subscriptions, options.client_rack, exclude_internal=options.exclude_internal_topics
        )

    @property
    @abstractmethod
    def metadata(self) -> ConsumerGroupMetadata:
        """The membership, for offsets that a transaction commits."""

    @abstractmethod
    async def poll(self, timer: CallTimer) -> bool:
        """Do what a poll has to do before records are read; return False when the member has to wait."""

    @abstractmethod
    async def unsubscribed(self, timer: CallTimer) -> None:
        """Give up all partitions and leave the group."""

    @abstractmethod
    def enforce_rebalance(self, reason: str) -> None:
        """Join again at the next poll."""

    @abstractmethod
    async def close(self, timer: CallTimer, operation: GroupMembershipOperation) -> None:
        """Commit, call the listener and leave, or remain."""

    async def fetch_committed(
        self, partitions: Sequence[TopicPartition], timer: CallTimer
    ) -> dict[TopicPartition, OffsetAndMetadata | None] | None:
        """Return committed offsets; None when the time is over. Raises the errors of CommittedOffsets.fetch."""
        return await self._committed.fetch(partitions, timer)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timer: CallTimer) -> bool:
        """Commit and wait; return False when the time is over. Raises the errors of OffsetCommits.commit."""
        return await self._commits.commit(offsets, timer)

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], callback: Callable[..., object] | None
    ) -> None:
        """Send a commit; its callback is called by a later call."""
        self._commits.commit_async(offsets, callback).addErrback(lambda _: None)  # the callback has its error

    def assigned_by_hand(self) -> None:
        """Commit the positions of the earlier assignment if enable.auto.commit is set."""
        self._commits.auto_commit_async()

    def observe_automatic_commits(self, observer: CommitObserver | None) -> None:
        """Show the commits of enable.auto.commit to an observer from now on."""
        self._commits.observe_automatic = observer

    def next_due_ms(self) -> int:
        """The milliseconds until a poll has something to do."""
        return self._commits.next_auto_commit_in_ms()

    async def _finish_commits(self, timer: CallTimer) -> None:
        """Commit if enable.auto.commit is set, and run the callbacks of commits, before the member leaves."""
        await self._commits.auto_commit(timer)
        await self._commits.wait_for_callbacks(timer)
