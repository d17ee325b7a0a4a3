"""The consumer groups of one shard. Mirrors the consumer group methods of GroupMetadataManager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.classic_members import ClassicMembers
from broker_sim.coordinators.groups.consumer.consumer_config import ConsumerConfig
from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
from broker_sim.coordinators.groups.consumer.consumer_replay import ConsumerReplay
from broker_sim.coordinators.groups.consumer.descriptions import described_group
from broker_sim.coordinators.groups.consumer.member_lookup import (
    check_epoch,
    dynamic_member,
    held_static_member,
    joining_preview_member,
    joining_static_member,
)
from broker_sim.coordinators.groups.consumer.member_update import MemberUpdate, epoch_records
from broker_sim.coordinators.groups.consumer.migration import Migration
from broker_sim.coordinators.groups.consumer.partition_order import equal_epochs, loaded_order, recorded_order
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.consumer.preview_replay import PreviewReplay
from broker_sim.coordinators.groups.consumer.regex_subscriptions import RegexSubscriptions
from broker_sim.coordinators.groups.modern.epoch_groups import EpochGroups
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.topic_partitions import (
    NO_PARTITIONS,
    partition_names,
    reported_topics,
    to_topics,
)
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.messages.consumer_group_describe import DescribedGroup
from protocol_specs.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.groups.classic.classic_groups import ClassicGroups
    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.groups.group import Group
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

__all__ = ["ConsumerGroups"]

_NO_VALUE = -1
"""The rebalance time-out of a heartbeat that does not change it."""


class ConsumerGroups(EpochGroups[ConsumerGroup, ConsumerMember, DescribedGroup]):
    """Heartbeats and leaves of the members of consumer groups."""

    def __init__(self, context: ShardContext, groups: GroupRegistry, classic: ClassicGroups) -> None:
        self.config = ConsumerConfig(context)
        replay_type = PreviewReplay if self.config.behaviour.consumer_groups_are_first_previews else ConsumerReplay
        replay = replay_type(context.snapshots, groups, behaviour=self.config.behaviour)
        super().__init__(context, groups, ConsumerGroup, replay, DescribedGroup)
        self.migration = Migration(context, self.config, classic)
        self.classic_members = ClassicMembers(context, self, classic)
        self._classic = classic
        self._regexes = RegexSubscriptions(context, self.config, groups)

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Let groups also resolve their regular expressions again."""
        self._regexes.image_changed()
        super().image_changed(changed_topics, deleted_topics)

    # Groups.

    def _replacement(self, group: Group, records: list[CoordinatorRecord]) -> ConsumerGroup | None:
        """Return the consumer group that replaces a classic one. Mirrors getOrMaybeCreateConsumerGroup."""
        if isinstance(group, ClassicGroup) and not self.config.behaviour.consumer_groups_are_first_previews:
            return self._converted(group, records)
        return None

    def _converted(self, group: ClassicGroup, records: list[CoordinatorRecord]) -> ConsumerGroup:
        """Return the consumer group that replaces a classic one."""
        new = self._replay.new_group(group.group_id)
        if group.is_empty():
            records += group.tombstones()
            return new
        self.migration.upgrade(group, new, records)
        for member in new.members.values():
            self._start_session(new.group_id, member)
        return new

    # Heartbeats.

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client: ClientInfo
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Join, stay or leave. Mirrors consumerGroupHeartbeat.

        Raises:
            CoordinatorError: The group or the member is unknown, the member is fenced, the group is full, ...
        """
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        records: list[CoordinatorRecord] = []
        joins = request.member_epoch == 0
        group = self._group_of_heartbeat(request.group_id, records, joins=joins)
        self.check_size(group, request.member_id)
        member_id = request.member_id or self.new_member_id()
        replaced: ConsumerMember | None = None
        owned = None if request.topic_partitions is None else reported_topics(request.topic_partitions)
        if request.instance_id is None:
            member = dynamic_member(group, member_id, create=joins)
        elif joins and self.config.behaviour.consumer_groups_are_first_previews:
            member, replaced = joining_preview_member(group, member_id, request.instance_id, records)
            if replaced is not None:
                self.timers.stop_all(group.group_id, replaced.member_id)
        elif joins:
            member = joining_static_member(group, member_id, request.instance_id, records, classic=False)
        else:
            member = held_static_member(group, member_id, request.instance_id)
        if not joins or self.config.behaviour.consumer_groups_are_previews:
            check_epoch(member, request.member_epoch, request.topic_partitions)
        update = MemberUpdate(
            context=self._context,
            config=self.config,
            group=group,
            old=replaced or member,
            new=_updated(member, request, client),
            records=records,
            owned=owned,
            replaces=replaced is not None,
            access=client.access,
        )
        try:
            updated = self.run(update)
        except CoordinatorError:
            if self.config.behaviour.consumer_groups_are_first_previews:
                self._keep_unrecorded(group, member, is_new=replaced is None)
            raise
        self._start_session(group.group_id, updated)
        self.report(group, member, updated)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=self.config.heartbeat_interval_ms(group.group_id),
        )
        if joins or self._requests_assignment(request, update) or updated.assigned != member.assigned:
            response.assignment = self._assignment(member, updated)
        return CoordinatorResult(records, response)

    def _keep_unrecorded(self, group: ConsumerGroup, member: ConsumerMember, *, is_new: bool) -> None:
        """Keep a member that 3.7 puts into its tables before the join fails, and its group."""
        if self._groups.get(group.group_id) is not group:
            self._groups.add(group)
        if is_new and member.member_id not in group.members:
            group.put_member(member)

    def _requests_assignment(self, request: ConsumerGroupHeartbeatRequest, update: MemberUpdate) -> bool:
        """Return True if a request has all fields: the member needs its assignment again after an error.

        In the first preview the owned partitions are enough, and each step of the member also sends the assignment.
        """
        owns = request.topic_partitions is not None
        if self.config.behaviour.consumer_groups_are_first_previews:
            return owns or update.progressed
        subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        return owns and subscribes and request.rebalance_timeout_ms != _NO_VALUE

    def _assignment(self, before: ConsumerMember, member: ConsumerMember) -> Assignment:
        """Return the partitions of a member in the order of the tables in which its release keeps them."""
        if isinstance(member, PreviewMember):
            return Assignment(topic_partitions=member.topics_of("assigned", TopicPartitions))
        if not self.config.behaviour.groups_time_their_assignments:
            return Assignment(topic_partitions=to_topics(member.assigned, TopicPartitions))
        in_order = loaded_order if before.progress == member.progress else recorded_order
        topics = [
            TopicPartitions(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in in_order(member.assigned, member.assignment_epochs).items()
        ]
        return Assignment(topic_partitions=topics)

    def run(self, update: MemberUpdate) -> ConsumerMember:
        """Run the steps of a changed member, and return it after its reconciliation.

        Raises:
            CoordinatorError: The expression is invalid, or the assignor failed.
        """
        update.record_member()
        self._regexes.update(update)
        update.bump_epoch()
        target_epoch, target = update.assign()
        updated = update.reconcile(target_epoch, target)
        if updated != update.new and not updated.uses_classic_protocol:
            self._set_rebalance_timer(update.group.group_id, updated)
        return updated

    def new_member_id(self) -> str:
        """Return a random id in Kafka's text form of a uuid."""
        from protocol_specs import uuids

        return uuids.to_text(self._context.host.random("member ids").randbytes(16))

    def _session_timeout_ms(self, group_id: str, member: ConsumerMember) -> int:
        classic = member.classic
        return self.config.session_timeout_ms(group_id) if classic is None else classic.session_timeout_ms

    # Leaving.

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Remove a member, or pause a static one. Mirrors consumerGroupLeave."""
        if self.config.behaviour.consumer_groups_are_first_previews:
            group = self._group_of_heartbeat(request.group_id, [], joins=False)
        else:
            group = self._groups.existing_of(ConsumerGroup, request.group_id)
        response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.instance_id is None:
            member = group.existing_member(request.member_id)
            return self._remove(group, member, "the member left the group.", response)
        member = held_static_member(group, request.member_id, request.instance_id)
        if request.member_epoch == LEAVE_EPOCH:
            return self._remove(group, member, "the member left the group.", response)
        paused = replace(
            member,
            member_epoch=STATIC_LEAVE_EPOCH,
            pending_revocation=NO_PARTITIONS,
            assignment_epochs=equal_epochs(member.assigned, 0) if member.assignment_epochs else {},
        )
        return CoordinatorResult([group.records.current_assignment_record(group.group_id, paused)], response)

    def _remove(
        self, group: ConsumerGroup, member: ConsumerMember, reason: str, response: Any
    ) -> CoordinatorResult[Any]:
        return self.remove(group, [member], reason, response)

    def remove(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], reason: str, response: Any
    ) -> CoordinatorResult[Any]:
        """Remove members, which makes a new group epoch. Mirrors consumerGroupFenceMembers."""
        if self.migration.may_downgrade(group, members, replaced=False):
            return self._downgrade(group, members, reason, response)
        records = consumer_records.member_tombstones(group.group_id, [member.member_id for member in members])
        subscribers, regexes = group.subscribers_with(members, None), group.regex_subscribers_with(members, None)
        records += [
            consumer_records.regex_tombstone(group.group_id, regex)
            for regex in group.regex_subscribers
            if regex not in regexes
        ]
        fingerprint = self.config.fingerprint(group.all_topics(subscribers, regexes))
        changed = (fingerprint or None) != (group.metadata.get() or None)
        records += epoch_records(group, group.group_epoch.get() + 1, fingerprint, changed=changed)
        for member in members:
            self.timers.stop_all(group.group_id, member.member_id)
            self._journal.removed(group.group_id, member.member_id, reason)
        return CoordinatorResult(records, response)

    def _downgrade(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], reason: str, response: Any
    ) -> CoordinatorResult[Any]:
        """The last members of the consumer protocol leave: the classic ones go on as a classic group."""
        records: list[CoordinatorRecord] = []
        classic = self.migration.downgrade(group, members, None, records)
        for member in group.members.values():
            self.timers.stop_all(group.group_id, member.member_id)
        for member in members:
            self._journal.removed(group.group_id, member.member_id, reason)
        self._classic.rebalances.prepare(classic, "the last member of the consumer protocol has left")
        return CoordinatorResult(records, response, replay=False)

    # Events and descriptions.

    def _assignment_text(self, member: ConsumerMember) -> str:
        return partition_names(member.assigned, self._context.host.metadata_cache.image.topics_by_id)

    def _described(self, group: ConsumerGroup, committed_offset: int) -> DescribedGroup:
        return described_group(
            group,
            committed_offset,
            default_assignor=next(iter(self.config.assignors)),
            topics=self._context.host.metadata_cache.image.topics_by_id,
            shows_revocations=self.config.behaviour.described_members_show_revocations,
        )


def _updated(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, client: ClientInfo) -> ConsumerMember:
    """Return the member with the fields of a heartbeat; null leaves a field as it is."""
    names, regex, assignor = request.subscribed_topic_names, request.subscribed_topic_regex, request.server_assignor
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _NO_VALUE else timeout_ms,
        server_assignor=member.server_assignor if assignor is None else assignor,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=client.client_id,
        client_host=client.client_host,
        classic=None,
    )
