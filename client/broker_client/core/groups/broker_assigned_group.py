"""A consumer in a group whose partitions the broker assigns (KIP-848). Mirrors AsyncKafkaConsumer's group parts.

A poll reconciles the assignment that heartbeats have brought: commit, revoke, assign, acknowledge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.logger import Logger

from broker_client.consumer_groups import ConsumerGroupMetadata, GroupMembershipOperation
from broker_client.core.consumer.call_waits import failure_of
from broker_client.core.groups.assignment_names import AssignmentNames
from broker_client.core.groups.committed_offsets import CommittedOffsets
from broker_client.core.groups.consumer_group import ConsumerGroup
from broker_client.core.groups.consumer_heartbeats import ConsumerHeartbeats
from broker_client.core.groups.consumer_member_states import ConsumerMemberState
from broker_client.core.groups.consumer_membership import ConsumerMembership
from broker_client.core.groups.offset_commits import OffsetCommits
from broker_client.core.groups.topic_ids import TopicIds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.consumer_errors import RebalanceCallbackFailed
    from broker_client.consumer_interceptors import ConsumerInterceptors
    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.records import TopicPartition

__all__ = ["BrokerAssignedGroup"]

_log = Logger()


class BrokerAssignedGroup(ConsumerGroup):
    """Call everything on the reactor's thread."""

    def __init__(
        self,
        core: ClientCore,
        options: GroupOptions,
        subscriptions: SubscriptionState,
        waits: CallWaits,
        run_callback: CallbackRunner,
        metrics: CoordinatorMetrics,
        interceptors: ConsumerInterceptors,
    ) -> None:
        super().__init__(core, options, subscriptions, waits, run_callback, metrics)
        self._membership = ConsumerMembership(
            core,
            options,
            self._finder,
            waits,
            ConsumerHeartbeats(options, subscriptions),
            waits.notify,
            metrics=metrics,
        )
        self._topic_ids = TopicIds(core)
        self._commits = OffsetCommits(
            core,
            options,
            self._finder,
            waits,
            self._membership,
            subscriptions,
            run_callback,
            metrics=metrics,
            interceptors=interceptors,
            topic_ids=self._topic_ids,
        )
        self._committed = CommittedOffsets(
            options.group_id,
            self._finder,
            waits,
            lambda: self._membership.generation,
            with_member=True,
            topic_ids=self._topic_ids,
        )
        self._names = AssignmentNames(core.metadata)

    @property
    def metadata(self) -> ConsumerGroupMetadata:
        """Member id and epoch; the epoch is the generation."""
        member = self._membership.generation
        return ConsumerGroupMetadata(
            group_id=self._options.group_id,
            generation_id=-1 if member is None else member.generation_id,
            member_id="" if member is None else member.member_id,
            group_instance_id=self._options.group_instance_id,
        )

    async def poll(self, timer: CallTimer) -> bool:
        """Join, call the listener for lost partitions, and reconcile a new assignment.

        Raises:
            ProducerError: the coordinator refuses the member, or a listener raised.
        """
        del timer  # nothing is waited for: heartbeats continue between polls
        await self._commits.run_callbacks()
        if self._subscriptions.is_automatic:
            self._snapshots.update()
            await self._release_lost()
            if self._subscriptions.pattern is None or self._subscriptions.subscription:
                self._membership.polled()
            if self._membership.state is ConsumerMemberState.RECONCILING:
                await self._reconcile()
        self._commits.auto_commit_if_due()
        return True

    async def unsubscribed(self, timer: CallTimer) -> None:
        """Give up all partitions and leave the group.

        Raises:
            RebalanceCallbackFailed: the listener raised.
        """
        error = await self._leave(timer)
        if error is not None:
            raise error

    def enforce_rebalance(self, reason: str) -> None:
        """Log that brokers decide when to rebalance, as Java does."""
        _log.warn("enforce_rebalance: ignored with group.protocol=consumer reason={reason}", reason=reason)

    async def close(self, timer: CallTimer, operation: GroupMembershipOperation) -> None:
        """Commit if enable.auto.commit is set, run callbacks, leave the group or remain in it.

        Raises:
            RebalanceCallbackFailed: the listener raised.
        """
        failure = await failure_of(self._finish_commits(timer))
        left = await self._leave(timer, operation)
        error = failure or left
        if error is not None:
            raise error

    # Details

    async def _leave(
        self, timer: CallTimer, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT
    ) -> RebalanceCallbackFailed | None:
        owned = list(self._subscriptions.states)
        if not self._subscriptions.is_automatic:
            return None
        error: RebalanceCallbackFailed | None = None
        if not self._membership.prepare_leaving():
            self._membership.left()
            if owned:
                error = await self._callbacks.lost(owned)
            self._subscriptions.assign_from_group(())
            return error
        is_member = self._membership.generation is not None
        if owned:
            error = await (self._callbacks.revoked(owned) if is_member else self._callbacks.lost(owned))
        self._subscriptions.assign_from_group(())
        self._subscriptions.unsubscribe()
        left = self._membership.leave(operation)
        if left is not None:
            await self._waits.until(lambda: left.is_done, timer)
        self._membership.left()
        return error

    async def _release_lost(self) -> None:
        """Call the listener of a member that was fenced or left because it did not poll, then join again."""
        state = self._membership.state
        if state not in (ConsumerMemberState.FENCED, ConsumerMemberState.STALE, ConsumerMemberState.FATAL):
            return
        owned = list(self._subscriptions.states)
        error = await self._callbacks.lost(owned) if owned else None
        self._subscriptions.assign_from_group(())
        if state is not ConsumerMemberState.FATAL:
            self._membership.join()
        if error is not None:
            raise error

    async def _reconcile(self) -> None:
        target = self._names.resolved(self._membership.target)
        if target is None:
            return
        assigned = self._names.named(target)
        if target.partitions == self._membership.current.partitions and self._membership.current.local_epoch >= 0:
            self._membership.reconciled(target)
            return
        owned = list(self._subscriptions.states)
        kept = frozenset(assigned)
        revoked = [key for key in owned if key not in kept]
        await self._commit_before(revoked)
        if revoked and self._is_reconciling:
            self._subscriptions.mark_leaving(revoked)
            error = await self._callbacks.revoked(revoked)
            if error is not None:
                raise error
        if not self._is_reconciling:
            return
        self._subscriptions.assign_from_group(assigned)
        added = [key for key in assigned if key not in owned]
        for key in added:
            self._subscriptions.states[key].awaits_callback = True
        error = await self._callbacks.assigned(added)
        for key in added:
            if key in self._subscriptions.states:
                self._subscriptions.states[key].awaits_callback = False
        if error is not None:
            raise error
        if self._is_reconciling:
            self._membership.reconciled(target)

    @property
    def _is_reconciling(self) -> bool:
        return self._membership.state is ConsumerMemberState.RECONCILING

    async def _commit_before(self, revoked: Sequence[TopicPartition]) -> None:
        """Commit all positions before partitions change, for at most the rebalance time-out."""
        del revoked  # as in Java, positions are committed even if nothing is revoked
        if self._options.enable_auto_commit and self._subscriptions.states:
            await self._commits.auto_commit(self._waits.timer(self._options.max_poll_interval_ms))
