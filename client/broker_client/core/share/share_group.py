"""The membership in a share group; assignments are taken as they arrive. Mirrors ShareMembershipManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.assignment_names import AssignmentNames
from broker_client.core.groups.consumer_member_states import ConsumerMemberState
from broker_client.core.groups.consumer_membership import ConsumerMembership
from broker_client.core.groups.coordinator_finder import CoordinatorFinder
from broker_client.core.share.share_heartbeats import ShareHeartbeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.metrics.coordinator_metrics import MembershipMetrics
    from broker_client.core.network.client_core import ClientCore

__all__ = ["ShareGroup"]


class ShareGroup:
    """Call everything on the reactor's thread.

    `on_member` is called with the member id after each response to a heartbeat, when the assignment has been taken.
    """

    def __init__(
        self,
        core: ClientCore,
        options: GroupOptions,
        subscriptions: SubscriptionState,
        waits: CallWaits,
        on_member: Callable[[str], None],
        metrics: MembershipMetrics,
    ) -> None:
        self._subscriptions = subscriptions
        self._waits = waits
        self._on_member = on_member
        self._names = AssignmentNames(core.metadata)
        self._membership = ConsumerMembership(
            core,
            options,
            CoordinatorFinder(core, options, waits),
            waits,
            ShareHeartbeats(options, subscriptions),
            self._changed,
            metrics=metrics,
        )

    def polled(self) -> None:
        """The application called poll: join, or join again after max.poll.interval.ms.

        Raises:
            ProducerError: the coordinator refuses the member.
        """
        if self._membership.state is ConsumerMemberState.STALE:
            self._membership.join()
        self._membership.polled()
        self.reconcile()

    def reconcile(self) -> None:
        """Take the assignment of the last heartbeat, as far as the names of its topics are known."""
        membership = self._membership
        if membership.state is not ConsumerMemberState.RECONCILING:
            return
        target = self._names.resolved(membership.target)
        if target is None:
            return
        if target.partitions != membership.current.partitions or membership.current.local_epoch < 0:
            self._subscriptions.assign_from_group(self._names.named(target))
        membership.reconciled(target)

    async def leave(self, timer: CallTimer) -> None:
        """Forget the subscription and leave the group."""
        self._subscriptions.unsubscribe()
        if self._membership.prepare_leaving():
            left = self._membership.leave()
            if left is not None:
                await self._waits.until(lambda: left.is_done, timer)
        self._membership.left()

    def _changed(self) -> None:
        membership = self._membership
        state = membership.state
        if state in (ConsumerMemberState.FENCED, ConsumerMemberState.STALE, ConsumerMemberState.FATAL):
            if self._subscriptions.is_automatic:
                self._subscriptions.assign_from_group(())
            if state is ConsumerMemberState.FENCED:
                membership.join()
        self.reconcile()
        if membership.generation is not None:
            self._on_member(membership.member_id)
        self._waits.notify()
