"""A changed member of a consumer group: the steps of a heartbeat, and of a classic member's join.

Mirrors the steps that consumerGroupHeartbeat and classicGroupJoinToConsumerGroup have in common: (a) record the
member, (b) bump the group epoch, (c) compute the target assignment, (d) reconcile the member.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.current_assignment import Reconciliation
from broker_sim.coordinators.groups.consumer.preview_assignment import next_preview_step
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.modern.subscription_metadata import partition_racks
from broker_sim.coordinators.groups.modern.target_assignment import compute_target_assignment
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.consumer.consumer_config import ConsumerConfig
    from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.modern.topic_partitions import OwnedPartitions, TopicPartitions
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.security.access import Access

__all__ = ["REFRESH_MS", "MemberUpdate", "epoch_records"]

REFRESH_MS: Final = 2**31 - 1
"""METADATA_REFRESH_INTERVAL_MS: changes of topics are notified."""


@dataclass(slots=True, kw_only=True)
class MemberUpdate:
    """One run of the steps; `records` are those of the operation."""

    context: ShardContext
    config: ConsumerConfig
    group: ConsumerGroup
    old: ConsumerMember
    new: ConsumerMember
    records: list[CoordinatorRecord]
    owned: OwnedPartitions | None
    """The partitions that the member reports as its own; None if it reports nothing."""
    topics_changed: bool = False
    """The member subscribes to other topics than before."""
    epoch_needed: bool = False
    """Something else than the subscription requires a new epoch."""
    replaces: bool = False
    """The member of 3.7's preview replaces a static one: the target assignment is computed anew."""
    access: Access | None = None
    """The rights of the member's client; None where nothing is checked."""
    group_epoch: int = field(init=False)
    computed: bool = field(init=False, default=False)
    """A new target assignment was computed."""
    progressed: bool = field(init=False, default=False)
    """The member came nearer to its target assignment."""
    _homogeneous: bool | None = field(init=False, default=None)
    """Whether all members subscribe alike, counted with a new epoch or a refresh; None: as before the update."""

    def record_member(self) -> None:
        """Step (a): record the member if it changed."""
        if self.new == self.old:
            return
        self.records.append(self.group.records.member_record(self.group.group_id, self.new))
        self.topics_changed = self.new.subscribed_topic_names != self.old.subscribed_topic_names or (
            self.new.subscribed_topic_regex or ""
        ) != (self.old.subscribed_topic_regex or "")

    def bump_epoch(self) -> None:
        """Step (b): a new group epoch if the subscription or the subscribed topics changed."""
        group, now_ms = self.group, self.context.now_ms()
        self.group_epoch = group.group_epoch.get()
        is_first = not self.group_epoch and self.config.behaviour.new_consumer_groups_get_an_epoch
        names_changed = self.new.subscribed_topic_names != self.old.subscribed_topic_names
        needed = self.epoch_needed or names_changed or is_first
        if not (needed or group.has_metadata_expired(now_ms)):
            return
        subscribers = group.subscribers_with([self.old], self.new)
        regexes = group.regex_subscribers_with([self.old], self.new)
        is_new = self.new.member_id not in group.members and group.static_member(self.new.instance_id) is None
        self._homogeneous = group.has_homogeneous(subscribers, regexes, len(group.members) + is_new)
        fingerprint = self.config.fingerprint(group.all_topics(subscribers, regexes))
        changed = (fingerprint or None) != (group.metadata.get() or None)
        if changed or needed:
            self.group_epoch += 1
            self.records += epoch_records(group, self.group_epoch, fingerprint, changed=changed)
        group.refresh_metadata_at(now_ms + REFRESH_MS, self.group_epoch)

    def assign(self) -> tuple[int, TopicPartitions]:
        """Step (c): return the epoch of the target assignment and the member's part, computed anew if it is due.

        Raises:
            CoordinatorError: The assignor failed, or in 3.7 a static member replaces itself.
        """
        group, new = self.group, self.new
        now_ms = self.context.now_ms()
        waits = group.awaits_assignment_interval(now_ms, self.config.assignment_interval_ms(group.group_id))
        if (self.group_epoch <= group.assignment_epoch.get() and not self.replaces) or waits:
            return group.assignment_epoch.get(), group.target_for(new.member_id, new.instance_id)
        holder = group.static_member(new.instance_id)
        assignors = self.config.assignors
        preferred = group.preferred_assignor_with(self.old, new, next(iter(assignors)))
        target = compute_target_assignment(
            group,
            assignors[preferred],
            group_epoch=self.group_epoch,
            updated=new,
            replaced_id=holder.member_id if holder is not None and holder.member_id != new.member_id else None,
            homogeneous=group.is_homogeneous if self._homogeneous is None else self._homogeneous,
            topics=self.context.host.metadata_cache.image.topics,
            topic_names=group.topics_of,
            racks_of=partial(partition_racks, self.context.host.metadata_cache.image),
        )
        if self.replaces and holder is not None and holder.member_id == new.member_id:
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)  # 3.7 removes the member that it has just added
        self.computed = True
        self.records += [
            group.records.target_record(group.group_id, member_id, partitions)
            for member_id, partitions in target.changed.items()
        ]
        computed_ms = now_ms if self.config.behaviour.groups_time_their_assignments else 0
        self.records.append(consumer_records.assignment_epoch_record(group.group_id, self.group_epoch, computed_ms))
        return self.group_epoch, target.members.get(new.member_id, NO_PARTITIONS)

    def reconcile(self, target_epoch: int, target: TopicPartitions) -> ConsumerMember:
        """Step (d): return the member one step nearer to its target.

        Raises:
            CoordinatorError: FENCED_MEMBER_EPOCH for a state of a newer release.
        """
        compares = self.config.behaviour.dropped_topics_are_revoked_at_once
        changed = compares and self.topics_changed
        if self.new.is_reconciled_to(target_epoch) and not changed:
            return self.new
        if isinstance(self.new, PreviewMember):
            updated: ConsumerMember = next_preview_step(self.new, target_epoch, target, self.group.is_free, self.owned)
        else:
            step = Reconciliation(
                target_epoch=target_epoch,
                target=target,
                is_free=self.group.is_free,
                owned=self.owned,
                subscribed=self._subscribed_ids() if compares else None,
                subscription_changed=changed,
                keeps_epochs=self.config.behaviour.groups_time_their_assignments,
            )
            updated = step.next_step(self.new)
        if updated != self.new:
            self.progressed = True
            self.records.append(self.group.records.current_assignment_record(self.group.group_id, updated))
        return updated

    def _subscribed_ids(self) -> frozenset[bytes]:
        topics = self.context.host.metadata_cache.image.topics
        return frozenset(topics[name].topic_id for name in self.group.topics_of(self.new) if name in topics)


def epoch_records(group: ConsumerGroup, epoch: int, fingerprint: object, *, changed: bool) -> list[CoordinatorRecord]:
    """Return the records of a group epoch; up to 4.0 changed topics have a record of their own."""
    group_id = group.group_id
    if isinstance(fingerprint, int):
        return [consumer_records.group_epoch_record(group_id, epoch, fingerprint)]
    assert isinstance(fingerprint, dict)
    topics = [group.records.partition_metadata_record(group_id, fingerprint)] if changed else []
    return [*topics, consumer_records.group_epoch_record(group_id, epoch, 0)]
