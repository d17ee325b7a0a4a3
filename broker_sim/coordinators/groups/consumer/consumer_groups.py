"""The consumer groups of one shard. Mirrors the consumer group methods of GroupMetadataManager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.config.java_hash import hash_order_of_changed_map
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.classic_members import ClassicMembers
from broker_sim.coordinators.groups.consumer.consumer_config import ConsumerConfig
from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
from broker_sim.coordinators.groups.consumer.consumer_replay import ConsumerReplay
from broker_sim.coordinators.groups.consumer.descriptions import described_group
from broker_sim.coordinators.groups.consumer.member_lookup import (
    check_epoch,
    dynamic_member,
    held_static_member,
    joining_static_member,
)
from broker_sim.coordinators.groups.consumer.member_timers import MemberTimers
from broker_sim.coordinators.groups.consumer.member_update import MemberUpdate, epoch_records
from broker_sim.coordinators.groups.consumer.migration import Migration
from broker_sim.coordinators.groups.consumer.regex_subscriptions import RegexSubscriptions
from broker_sim.coordinators.groups.group_journal import GroupJournal
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.topic_partitions import (
    NO_PARTITIONS,
    each_partition,
    from_topics,
    ordered,
    to_topics,
)
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_describe import DescribedGroup
from protocol_specs.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.coordinators.groups.classic.classic_groups import ClassicGroups
    from broker_sim.coordinators.groups.classic.requests import ClientInfo
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.message import Message
    from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

__all__ = ["ConsumerGroups"]

_NO_VALUE = -1
"""The rebalance time-out of a heartbeat that does not change it."""


class ConsumerGroups:
    """Heartbeats, leaves and expirations of the members of consumer groups."""

    def __init__(self, context: ShardContext, groups: GroupRegistry, classic: ClassicGroups) -> None:
        self.config = ConsumerConfig(context)
        self._context = context
        self._journal = GroupJournal(context)
        self._groups = groups
        self._replay = ConsumerReplay(context.snapshots, groups, behaviour=self.config.behaviour)
        self.timers = MemberTimers(context.timers, self._expire)
        self.migration = Migration(context, self.config, classic)
        self.classic_members = ClassicMembers(context, self, classic)
        self._classic = classic
        self._regexes = RegexSubscriptions(context, self.config, groups)

    # The interface of a shard's part.

    @property
    def replays(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The records of consumer groups."""
        return self._replay.handlers

    def loaded(self) -> None:
        """Start the session of each member, and the rebalance timers of those that must revoke partitions."""
        for group in self._all():
            for member in group.members.values():
                self._start_session(group.group_id, member)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    self.timers.start_rebalance(
                        group.group_id, member.member_id, member.member_epoch, member.rebalance_timeout_ms
                    )

    def unloaded(self) -> None:
        """No request is parked here."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Let the groups that subscribe to these topics compare their metadata at the next heartbeat."""
        self._regexes.image_changed()
        for group in self._all():
            if any(group.is_subscribed_to(topic) for topic in (*changed_topics, *deleted_topics)):
                group.request_metadata_refresh()

    def end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Groups have no transactions."""

    # Groups.

    def _all(self) -> list[ConsumerGroup]:
        return self._groups.all_of(ConsumerGroup)

    def existing(self, group_id: str, committed_offset: int | None = None) -> ConsumerGroup:
        """Return the consumer group of an id, as of an offset if one is given.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: there is no group, or one of another type.
        """
        group = self._groups.existing(group_id, committed_offset)
        if not isinstance(group, ConsumerGroup):
            raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return group

    def _group_of_heartbeat(self, group_id: str, records: list[CoordinatorRecord], *, create: bool) -> ConsumerGroup:
        """Return the group of a heartbeat; a join creates it. Mirrors getOrMaybeCreateConsumerGroup."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if group is None:
            if not create:
                raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
            return self._replay.new_group(group_id)
        convertible = create and not self.config.behaviour.consumer_groups_are_first_previews
        if convertible and isinstance(group, ClassicGroup):
            return self._converted(group, records)
        raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")

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
        group = self._group_of_heartbeat(request.group_id, records, create=joins)
        self.check_size(group, request.member_id)
        member_id = request.member_id or self.new_member_id()
        owned = None if request.topic_partitions is None else from_topics(request.topic_partitions)
        if request.instance_id is None:
            member = dynamic_member(group, member_id, create=joins)
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
            old=member,
            new=_updated(member, request, client),
            records=records,
            owned=owned,
        )
        updated = self.run(update)
        self._start_session(group.group_id, updated)
        self.report(group, member, updated)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=self.config.heartbeat_interval_ms(group.group_id),
        )
        if joins or self._requests_assignment(request, member, updated) or updated.assigned != member.assigned:
            response.assignment = self._assignment(member, updated)
        return CoordinatorResult(records, response)

    def _requests_assignment(
        self, request: ConsumerGroupHeartbeatRequest, before: ConsumerMember, member: ConsumerMember
    ) -> bool:
        """Return True if a request has all fields: the member needs its assignment again after an error.

        In the first preview the owned partitions are enough, and a new epoch also sends the assignment.
        """
        owns = request.topic_partitions is not None
        if self.config.behaviour.consumer_groups_are_first_previews:
            return owns or member.member_epoch != before.member_epoch
        subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        return owns and subscribes and request.rebalance_timeout_ms != _NO_VALUE

    def _assignment(self, before: ConsumerMember, member: ConsumerMember) -> Assignment:
        """Return the partitions of a member in the order of the tables in which its release keeps them."""
        if not self.config.behaviour.groups_time_their_assignments:
            return Assignment(topic_partitions=to_topics(member.assigned, TopicPartitions))
        kept = {} if before.progress == member.progress else before.assigned
        topics = [
            TopicPartitions(
                topic_id=topic_id, partitions=hash_order_of_changed_map(kept.get(topic_id, frozenset()), partitions)
            )
            for topic_id, partitions in ordered(member.assigned)
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
        group_id = update.group.group_id
        if updated != update.new and not updated.uses_classic_protocol:
            if updated.state is MemberState.UNREVOKED_PARTITIONS:
                self.timers.start_rebalance(
                    group_id, updated.member_id, updated.member_epoch, updated.rebalance_timeout_ms
                )
            else:
                self.timers.stop_rebalance(group_id, updated.member_id)
        return updated

    def check_size(self, group: ConsumerGroup, member_id: str) -> None:
        """Raise unless the member is in the group or fits in.

        Raises:
            CoordinatorError: GROUP_MAX_SIZE_REACHED.
        """
        limit = self.config.max_size
        if len(group.members) >= limit and (not member_id or member_id not in group.members):
            raise CoordinatorError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {limit} members.",
            )

    def new_member_id(self) -> str:
        """Return a random id in Kafka's text form of a uuid."""
        from protocol_specs import uuids

        return uuids.to_text(self._context.host.random("member ids").randbytes(16))

    def _start_session(self, group_id: str, member: ConsumerMember) -> None:
        classic = member.classic
        timeout_ms = self.config.session_timeout_ms(group_id) if classic is None else classic.session_timeout_ms
        self.timers.start_session(group_id, member.member_id, timeout_ms)

    # Leaving.

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Remove a member, or pause a static one. Mirrors consumerGroupLeave."""
        group = self.existing(request.group_id)
        response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.instance_id is None:
            member = group.existing_member(request.member_id)
            return self.remove(group, [member], "the member left the group.", response)
        member = held_static_member(group, request.member_id, request.instance_id)
        if request.member_epoch == LEAVE_EPOCH:
            return self.remove(group, [member], "the member left the group.", response)
        paused = replace(
            member,
            member_epoch=STATIC_LEAVE_EPOCH,
            pending_revocation=NO_PARTITIONS,
            assignment_epochs=dict.fromkeys(each_partition(member.assigned), 0) if member.assignment_epochs else {},
        )
        return CoordinatorResult([consumer_records.current_assignment_record(group.group_id, paused)], response)

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
        records += epoch_records(group.group_id, group.group_epoch.get() + 1, fingerprint, changed=changed)
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

    def _expire(self, group_id: str, member_id: str, reason: str, epoch: int | None) -> CoordinatorResult[None]:
        """Remove the member of a timer if it is still there, and at this epoch."""
        group = self._groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or epoch not in (None, member.member_epoch):
            return CoordinatorResult([], None)
        assert isinstance(group, ConsumerGroup)
        return self.remove(group, [member], reason, None)

    # Descriptions.

    def describe(self, group_ids: Sequence[str], committed_offset: int) -> list[DescribedGroup]:
        """Describe groups as of an offset; a group that is unknown or of another type has an error."""
        described = []
        for group_id in group_ids:
            try:
                group = self.existing(group_id, committed_offset)
            except CoordinatorError as error:
                refusal = DescribedGroup(group_id=group_id, error_code=error.error_code)
                if self.config.behaviour.descriptions_explain_errors:
                    refusal.error_message = error.message
                described.append(refusal)
                continue
            described.append(
                described_group(
                    group,
                    committed_offset,
                    default_assignor=next(iter(self.config.assignors)),
                    topics=self._context.host.metadata_cache.image.topics_by_id,
                    shows_revocations=self.config.behaviour.described_members_show_revocations,
                )
            )
        return described

    # Events.

    def report(self, group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember) -> None:
        """Journal that a member joins or gets other partitions."""
        if new.member_id not in group.members:
            self._journal.joined(
                group.group_id,
                new.member_id,
                client_id=new.client_id,
                client_host=new.client_host,
                group_instance_id=new.instance_id,
            )
        if new.assigned != old.assigned:
            self._journal.assigned(group.group_id, new.member_id, new.member_epoch, self._names(new))

    def _names(self, member: ConsumerMember) -> str:
        topics = self._context.host.metadata_cache.image.topics_by_id
        return ", ".join(
            f"{topics[topic_id].name}-{index}"
            for topic_id, index in each_partition(member.assigned)
            if topic_id in topics
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
