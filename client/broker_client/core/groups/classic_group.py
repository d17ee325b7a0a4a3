"""A consumer in a classic group: rebalances and their effects on subscription and positions.

Mirrors ConsumerCoordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.consumer_errors import is_retriable
from broker_client.consumer_groups import ConsumerGroupMetadata, GroupMembershipOperation
from broker_client.core.consumer.call_waits import failure_of
from broker_client.core.groups.assignors.assignor import RebalanceProtocol
from broker_client.core.groups.assignors.cooperative_sticky_assignor import CooperativeStickyAssignor
from broker_client.core.groups.classic_membership import ClassicMembership
from broker_client.core.groups.committed_offsets import CommittedOffsets
from broker_client.core.groups.consumer_group import ConsumerGroup
from broker_client.core.groups.consumer_protocol import (
    Subscription,
    assignment_of,
    encoded_assignment,
    encoded_subscription,
    subscription_of,
)
from broker_client.core.groups.hash_order import in_hash_order
from broker_client.core.groups.offset_commits import OffsetCommits
from broker_client.core.network.reactor_signal import metadata_change
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import ConfigError, IllegalState, ProducerError
from protocol_specs.messages.join_group import JoinGroupRequestProtocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.consumer_errors import RebalanceCallbackFailed
    from broker_client.consumer_interceptors import ConsumerInterceptors
    from broker_client.core.consumer.call_waits import CallTimer, CallWaits, PendingResult
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.groups.assignors.assignor import PartitionAssignor
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.groups.consumer_protocol import Assignment
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.groups.member_states import Generation
    from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.records import TopicPartition
    from protocol_specs.messages.join_group import JoinGroupResponseMember

__all__ = ["ClassicGroup"]

METADATA_WAIT_MS: Final = 1_000
_ASSIGNS_SUBSCRIBED_TOPICS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
_log = Logger()


class ClassicGroup(ConsumerGroup):
    """Call everything on the reactor's thread. Also the MembershipOwner of its membership."""

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
        self._protocol = _common_protocol(options.assignors)
        self._membership = ClassicMembership(core, options, self._finder, waits, self, metrics)
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
        )
        self._committed = CommittedOffsets(
            options.group_id, self._finder, waits, lambda: self._membership.stable_generation
        )
        self._metadata = ConsumerGroupMetadata(group_id=options.group_id, group_instance_id=options.group_instance_id)
        self._joined_subscription: frozenset[str] | None = None
        self._is_leader = False
        self._prepare_timer: CallTimer | None = None
        self._prepare_commit: PendingResult | None = None

    @property
    def metadata(self) -> ConsumerGroupMetadata:
        """The membership of the last join."""
        return self._metadata

    async def poll(self, timer: CallTimer) -> bool:
        """Do what a poll has to do before records are read; return False when the member has to wait.

        Raises:
            ProducerError: the coordinator refuses the member, or a listener raised.
        """
        self._snapshots.update()
        await self._commits.run_callbacks()
        if self._subscriptions.is_automatic:
            if self._protocol is None:
                raise IllegalState("partition.assignment.strategy is empty: subscribe needs an assignor")
            self._membership.polled()
            if not await self._finder.ensure_ready(timer):
                return False
            if self._rejoin_needed_or_pending():
                if self._subscriptions.pattern is not None:
                    metadata = self._core.metadata
                    if metadata.time_to_allow_update_ms(now_ms_of(self._core.reactor)) == 0:
                        metadata.request_update()  # topics may have been created since
                    if not await self._waits.fresh_metadata(timer):
                        return False
                    self._snapshots.update()
                if not await self._membership.ensure_active(timer.at_most(0)):
                    return False
        self._commits.auto_commit_if_due()
        return True

    async def unsubscribed(self, timer: CallTimer) -> None:
        """Give up all partitions and leave the group. Mirrors onLeavePrepare and maybeLeaveGroup.

        Raises:
            RebalanceCallbackFailed: the listener raised.
        """
        del timer  # the response to LeaveGroup is not waited for
        error = await self._drop_all()
        self._membership.leave("the consumer unsubscribed from all topics")
        if error is not None:
            raise error

    async def close(self, timer: CallTimer, operation: GroupMembershipOperation) -> None:
        """Commit if enable.auto.commit is set, run callbacks, leave the group or remain in it.

        Raises:
            RebalanceCallbackFailed: the listener raised.
        """
        failure = await failure_of(self._finish_commits(timer))
        self._membership.stop()
        dropped = await self._drop_all()
        error = failure or dropped
        if operation is not GroupMembershipOperation.REMAIN_IN_GROUP:
            static_leaves = operation is GroupMembershipOperation.LEAVE_GROUP
            left = self._membership.leave("the consumer is being closed", static_leaves=static_leaves)
            if left is not None:
                await self._waits.until(lambda: left.is_done, timer)
        if error is not None:
            raise error

    def enforce_rebalance(self, reason: str) -> None:
        """Join again at the next poll (KIP-568)."""
        if not self._subscriptions.is_automatic:
            raise IllegalState("enforce_rebalance needs a subscription: partitions were assigned by hand")
        self._membership.request_rejoin(reason)

    # MembershipOwner

    def protocols(self) -> list[JoinGroupRequestProtocol]:
        """The subscription, encoded for each assignor."""
        topics = list(self._subscriptions.subscription)
        self._joined_subscription = frozenset(topics)
        generation = self._membership.generation.generation_id
        return [
            JoinGroupRequestProtocol(
                name=assignor.name,
                metadata=encoded_subscription(
                    Subscription(
                        topics=topics,
                        user_data=assignor.subscription_user_data(topics),
                        owned=list(self._subscriptions.states),
                        generation_id=generation,
                        rack_id=self._options.client_rack or None,
                    )
                ),
            )
            for assignor in self._options.assignors
        ]

    async def prepare_join(self, timer: CallTimer, generation: Generation) -> bool:
        """Commit the positions, then revoke what the member may not keep; return False while the commit is open."""
        if self._prepare_timer is None:
            self._prepare_timer = self._waits.timer(self._options.max_poll_interval_ms)
        if self._prepare_commit is None and self._options.enable_auto_commit:
            if self._protocol is RebalanceProtocol.EAGER:
                self._subscriptions.mark_leaving(list(self._subscriptions.states))
            self._prepare_commit = self._commits.auto_commit_async()
        if self._prepare_commit is not None and not await self._committed_before_join(timer):
            return False
        error = await self._revoke_before_join(generation)
        self._is_leader = False
        self._subscriptions.reset_group_subscription()
        self._prepare_timer = self._prepare_commit = None
        if error is not None:
            raise error
        return True

    async def assign(
        self, protocol: str, members: Sequence[JoinGroupResponseMember], *, skip_assignment: bool
    ) -> dict[str, bytes]:
        """Assign the partitions of all members; nothing if the coordinator keeps the assignment (KIP-814)."""
        assignor = self._assignor(protocol)
        subscriptions: dict[str, Subscription] = {}
        for member in members:
            one = subscriptions[member.member_id] = subscription_of(member.metadata)
            one.group_instance_id = member.group_instance_id
        topics = dict.fromkeys(topic for one in subscriptions.values() for topic in one.topics)
        await self._need_topics(topics)
        self._is_leader = True
        if skip_assignment:
            self._snapshots.remember()
            return {}
        assignments = assignor.assign(self._core.metadata.cluster, subscriptions)
        if self._protocol is RebalanceProtocol.COOPERATIVE and not isinstance(assignor, CooperativeStickyAssignor):
            _refuse_moved_partitions(subscriptions, assignments)
        if assignor.name not in _ASSIGNS_SUBSCRIBED_TOPICS:
            assigned = dict.fromkeys(key.topic for one in assignments.values() for key in one.partitions)
            if any(topic not in topics for topic in assigned):
                await self._need_topics({**topics, **assigned})
        self._snapshots.remember()
        return {member: encoded_assignment(assignments[member]) for member in in_hash_order(assignments)}

    async def complete_join(self, generation: Generation, assignment: bytes) -> None:
        """Replace the partitions by the assigned ones and call the listener."""
        if not self._is_leader:
            self._snapshots.forget()
        assignor = self._assignor(generation.protocol_name or "")
        self._metadata = ConsumerGroupMetadata(
            group_id=self._options.group_id,
            generation_id=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self._options.group_instance_id,
        )
        received = assignment_of(assignment)
        owned = dict(self._subscriptions.states)
        assigned = sorted(received.partitions)
        if not all(self._subscriptions.matches(key.topic) for key in assigned):
            self._membership.request_rejoin("received assignment does not match the current subscription")
            return
        error: RebalanceCallbackFailed | None = None
        if self._protocol is RebalanceProtocol.COOPERATIVE:
            kept = frozenset(assigned)
            revoked = [key for key in owned if key not in kept]
            if revoked:
                error = await self._callbacks.revoked(revoked)
                self._membership.request_rejoin("need to revoke partitions and re-join")
        self._join_matching_topics(assigned)
        assignor.on_assignment(received, self._metadata)
        self._commits.restart_auto_commit()
        self._subscriptions.assign_from_group(assigned)
        added = [key for key in assigned if key not in owned]
        error = await self._callbacks.assigned(added) or error
        if error is not None:
            raise error

    # Details

    def _rejoin_needed_or_pending(self) -> bool:
        if self._snapshots.has_changed:
            self._membership.request_rejoin_if_necessary("cached metadata has changed")
            return True
        joined = self._joined_subscription
        if joined is not None and joined != frozenset(self._subscriptions.subscription):
            self._membership.request_rejoin_if_necessary("subscription has changed")
            return True
        return self._membership.rejoin_needed_or_pending

    def _join_matching_topics(self, assigned: Sequence[TopicPartition]) -> None:
        """Take topics that match the pattern and were assigned, though this member did not know them when it joined."""
        joined = self._joined_subscription or frozenset()
        added = dict.fromkeys(key.topic for key in assigned if key.topic not in joined)
        if self._subscriptions.pattern is not None and added:
            self._subscriptions.subscribe_matching({**self._subscriptions.subscription, **added})
            self._joined_subscription = joined | frozenset(added)

    async def _committed_before_join(self, timer: CallTimer) -> bool:
        prepare, commit = self._prepare_timer, self._prepare_commit
        assert prepare is not None, "the preparation has begun"
        assert commit is not None, "the commit was sent"
        limit = timer if timer.left_ms < prepare.left_ms else prepare
        await self._waits.until(lambda: commit.is_done, limit)
        if prepare.is_expired or (commit.is_done and not _may_retry(commit)):
            return True
        if commit.is_done:
            self._prepare_commit = None
            await self._waits.sleep(min(limit.left_ms, self._options.retry_backoff_ms), limit)
        return False

    async def _revoke_before_join(self, generation: Generation) -> RebalanceCallbackFailed | None:
        owned = list(self._subscriptions.states)
        if not generation.is_member:
            if not owned:
                return None
            error = await self._callbacks.lost(owned)
            self._subscriptions.assign_from_group(())
            return error
        if self._protocol is RebalanceProtocol.EAGER:
            error = await self._callbacks.revoked(owned)
            self._subscriptions.assign_from_group(())
            return error
        revoked = [key for key in owned if key.topic not in self._subscriptions.subscription]
        if not revoked:
            return None
        error = await self._callbacks.revoked(revoked)
        self._subscriptions.assign_from_group([key for key in owned if key not in revoked])
        return error

    async def _drop_all(self) -> RebalanceCallbackFailed | None:
        owned = list(self._subscriptions.states)
        if not self._subscriptions.is_automatic or not owned:
            return None
        if not self._membership.generation.is_member or self._membership.state.is_rebalancing:
            error = await self._callbacks.lost(owned)
        else:
            error = await self._callbacks.revoked(owned)
        self._subscriptions.assign_from_group(())
        return error

    async def _need_topics(self, topics: Mapping[str, None]) -> None:
        """Have the metadata of all topics of the group."""
        if self._subscriptions.subscribe_group(topics):
            self._snapshots.publish_topics()
        metadata = self._core.metadata
        while metadata.update_requested or metadata.time_to_next_update_ms(now_ms_of(self._core.reactor)) == 0:
            await metadata_change(metadata, self._core.reactor, METADATA_WAIT_MS)
        self._snapshots.update()

    def _assignor(self, name: str) -> PartitionAssignor:
        for assignor in self._options.assignors:
            if assignor.name == name:
                return assignor
        raise IllegalState(f"the coordinator selected the assignor {name!r}, which this member did not offer")


def _common_protocol(assignors: Sequence[PartitionAssignor]) -> RebalanceProtocol | None:
    """The highest protocol that all assignors support; None without assignors."""
    if not assignors:
        return None
    common = set(RebalanceProtocol).intersection(*(assignor.protocols for assignor in assignors))
    if not common:
        names = ", ".join(assignor.name for assignor in assignors)
        raise ConfigError(f"partition.assignment.strategy: {names} have no rebalance protocol in common")
    return max(common)


def _refuse_moved_partitions(subscriptions: Mapping[str, Subscription], assignments: Mapping[str, Assignment]) -> None:
    """Raise IllegalState if a partition moves in one round from a member that still owns it."""
    added: dict[TopicPartition, None] = {}
    revoked: dict[TopicPartition, None] = {}
    for member, assignment in assignments.items():
        owned = subscriptions[member].owned
        added.update(dict.fromkeys(key for key in assignment.partitions if key not in owned))
        revoked.update(dict.fromkeys(key for key in owned if key not in assignment.partitions))
    moved = sorted(key for key in added if key in revoked)
    if moved:
        names = ", ".join(str(key) for key in moved)
        raise IllegalState(f"the assignor moves partitions that members still own: {names}; it must revoke them first")


def _may_retry(commit: PendingResult) -> bool:
    if commit.error is None:
        return False
    if isinstance(commit.error, ProducerError):
        _log.warn("offset commit: failed before a rebalance error={error}", error=commit.error)
    return is_retriable(commit.error)
