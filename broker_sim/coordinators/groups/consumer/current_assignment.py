"""One step of a member from its partitions towards its target assignment. Mirrors CurrentAssignmentBuilder.

| state | heartbeat finds | result |
|---|---|---|
| STABLE | the epoch of the target | unchanged; after a change of the subscription dropped topics are revoked |
| STABLE, UNRELEASED_PARTITIONS | partitions to revoke are owned | UNREVOKED_PARTITIONS at the same epoch |
| any | nothing to revoke, all new partitions are free | STABLE at the target's epoch |
| any | nothing to revoke, some are not free | UNRELEASED_PARTITIONS at the target's epoch, with the free ones |
| UNREVOKED_PARTITIONS | partitions to revoke are owned, or nothing is reported | unchanged |
| UNREVOKED_PARTITIONS | they are not owned any more | computed again |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.partition_order import changed_order, loaded_order
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.modern.topic_partitions import OwnedPartitions, TopicPartitions

__all__ = ["Reconciliation"]

_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """The facts on which the next step of a member depends."""

    target_epoch: int
    target: TopicPartitions
    is_free: Callable[[bytes, int], bool]
    """Whether no member has a partition, or must still revoke it."""
    owned: OwnedPartitions | None
    """The partitions that the member reports as its own; None if it reports nothing."""
    subscribed: AbstractSet[bytes] | None = None
    """The topics to which the member subscribes; None before 4.2, where they are not compared with the target."""
    subscription_changed: bool = False
    keeps_epochs: bool = False
    """Members have the epoch at which they got each partition (4.3)."""

    def next_step(self, member: ConsumerMember) -> ConsumerMember:
        """Return the member after the step, or the same one.

        Raises:
            CoordinatorError: FENCED_MEMBER_EPOCH for a state of a newer release.
        """
        updated = self._next_step(member)
        return self._with_epochs(member, updated) if self.keeps_epochs and updated is not member else updated

    def _with_epochs(self, member: ConsumerMember, updated: ConsumerMember) -> ConsumerMember:
        """Return the updated member with the epochs of its partitions, in the order of its tables.

        A partition that was to be revoked and is assigned again gets a new epoch.
        """
        known = member.assignment_epochs
        held = loaded_order(member.assigned, known)
        assigned = changed_order(held, updated.assigned, self.target)
        revoked = changed_order(held, updated.pending_revocation, member.pending_revocation)
        epochs = {
            (topic_id, partition): known.get((topic_id, partition), updated.member_epoch)
            for topic_id, partitions in revoked.items()
            for partition in partitions
        }
        for topic_id, partitions in assigned.items():
            kept = member.assigned.get(topic_id, _NOTHING)
            for partition in partitions:
                known_epoch = known.get((topic_id, partition)) if partition in kept else None
                epochs[topic_id, partition] = updated.member_epoch if known_epoch is None else known_epoch
        return replace(updated, assignment_epochs=epochs)

    def _next_step(self, member: ConsumerMember) -> ConsumerMember:
        if member.state is MemberState.STABLE:
            if member.member_epoch != self.target_epoch:
                return self._compute(member, member.member_epoch)
            return self._without_dropped_topics(member)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            if self._owns(member.pending_revocation):
                return self._without_dropped_topics(member)
            return self._compute(member, member.member_epoch + (self.subscribed is None))
        if member.state is MemberState.UNRELEASED_PARTITIONS:
            return self._compute(member, member.member_epoch)
        if self.owned is None or self.owned:
            raise CoordinatorError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its partitions and "
                "rejoin.",
            )
        return self._compute(member, self.target_epoch)

    def _owns(self, partitions: TopicPartitions) -> bool:
        """Return True if the member may still own some of the partitions."""
        if self.owned is None:
            return True
        return any(held & partitions.get(topic_id, _NOTHING) for topic_id, held in self.owned)

    def _without_dropped_topics(self, member: ConsumerMember) -> ConsumerMember:
        """Revoke the topics that the member does not subscribe to any more. Mirrors updateCurrentAssignment."""
        if self.subscribed is None or not self.subscription_changed:
            return member
        dropped = {topic_id: held for topic_id, held in member.assigned.items() if topic_id not in self.subscribed}
        # From 4.3 on a member that subscribes to no known topic takes a step even if it drops nothing.
        if not dropped and (self.subscribed or member.pending_revocation or not self.keeps_epochs):
            return member
        kept = {topic_id: held for topic_id, held in member.assigned.items() if topic_id in self.subscribed}
        pending = dict(member.pending_revocation)
        for topic_id, held in dropped.items():
            pending[topic_id] = pending.get(topic_id, _NOTHING) | held
        state = member.state
        if pending and self._owns(pending):
            state = MemberState.UNREVOKED_PARTITIONS
        else:
            pending = dict(member.pending_revocation)
        if self.keeps_epochs:
            return member.at_epoch(member.member_epoch, state, kept, pending)
        return replace(member, state=state, assigned=kept, pending_revocation=pending)

    def _compute(self, member: ConsumerMember, member_epoch: int) -> ConsumerMember:
        """Compare the partitions with the target. Mirrors computeNextAssignment."""
        kept: dict[bytes, frozenset[int]] = {}
        revoked: dict[bytes, frozenset[int]] = {}
        new: dict[bytes, frozenset[int]] = {}
        unreleased = False
        for topic_id in {**self.target, **member.assigned}:
            target = self.target.get(topic_id, _NOTHING)
            if self.subscribed is not None and topic_id not in self.subscribed:
                target = _NOTHING
            held = member.assigned.get(topic_id, _NOTHING)
            wanted = target - held
            own = _NOTHING if self.subscribed is None else member.pending_revocation.get(topic_id, _NOTHING)
            # From 4.2 on a member gets back at once what it has just revoked.
            free = frozenset(number for number in wanted if number in own or self.is_free(topic_id, number))
            unreleased = unreleased or free != wanted
            for found, partitions in ((kept, held & target), (revoked, held - target), (new, free)):
                if partitions:
                    found[topic_id] = partitions
        if revoked and self._owns(revoked):
            return member.at_epoch(member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
        for topic_id, partitions in new.items():
            kept[topic_id] = kept.get(topic_id, _NOTHING) | partitions
        state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
        return member.at_epoch(self.target_epoch, state, kept, NO_PARTITIONS)
