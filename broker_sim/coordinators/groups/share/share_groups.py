"""The share groups of one shard. Mirrors the share group methods of GroupMetadataManager (KIP-932)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.assignors.simple_assignor import SimpleAssignor
from broker_sim.coordinators.groups.group_configs import group_config_int
from broker_sim.coordinators.groups.modern.epoch_groups import EpochGroups
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.modern_group import is_homogeneous
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.modern.subscription_metadata import metadata_hash
from broker_sim.coordinators.groups.modern.target_assignment import compute_target_assignment
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, partition_names, to_topics
from broker_sim.coordinators.groups.share import share_records
from broker_sim.coordinators.groups.share.descriptions import described_group
from broker_sim.coordinators.groups.share.initialization import Initialization, InitializedTopic, topic_names
from broker_sim.coordinators.groups.share.share_group import ShareGroup
from broker_sim.coordinators.groups.share.share_offsets import ShareOffsets
from broker_sim.coordinators.groups.share.share_replay import ShareReplay
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_group_describe import DescribedGroup
from protocol_specs.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.modern import topic_partitions
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

__all__ = ["Heartbeat", "ShareGroups", "ToInitialize"]

REFRESH_INTERVAL_MS: Final = 3_600_000
_RETRY_INTERVAL: Final = "group.share.initialize.retry.interval.ms"
RETRY_INTERVAL_MS: Final = 30_000


class ToInitialize(NamedTuple):
    """Share partitions whose state the share coordinator is to initialize."""

    state_epoch: int
    partitions: topic_partitions.TopicPartitions


class Heartbeat(NamedTuple):
    """The response of a heartbeat, and the share partitions to initialize after it."""

    response: ShareGroupHeartbeatResponse
    initialize: ToInitialize | None = None


class ShareGroups(EpochGroups[ShareGroup, ModernMember, DescribedGroup]):
    """Heartbeats and leaves of the members of share groups."""

    def __init__(self, context: ShardContext, groups: GroupRegistry) -> None:
        replay = ShareReplay(context, groups)
        super().__init__(context, groups, ShareGroup, replay, DescribedGroup)
        self.offsets = ShareOffsets(context, groups, replay.new_group)

    @property
    def _image(self) -> MetadataImage:
        return self._context.host.metadata_cache.image

    # Heartbeats.

    def heartbeat(self, request: ShareGroupHeartbeatRequest, client: ClientInfo) -> CoordinatorResult[Heartbeat]:
        """Join, stay or leave. Mirrors shareGroupHeartbeat.

        Raises:
            CoordinatorError: The group or the member is unknown, the member is fenced, or the group is full.
        """
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(request)
        joins = request.member_epoch == 0
        records: list[CoordinatorRecord] = []
        group = self._group_of_heartbeat(request.group_id, records, joins=joins)
        self.check_size(group, request.member_id)
        known = group.members.get(request.member_id)
        member = ModernMember(member_id=request.member_id) if known is None and joins else None
        old = member or group.existing_member(request.member_id)
        _check_epoch(old, request.member_epoch)
        names = request.subscribed_topic_names
        new = replace(
            old,
            rack_id=old.rack_id if request.rack_id is None else request.rack_id,
            subscribed_topic_names=old.subscribed_topic_names if names is None else frozenset(names),
            client_id=client.client_id,
            client_host=client.client_host,
        )
        update = _MemberUpdate(self._context, group, None if known is None else old, new, records)
        updated = update.run(old)
        self.report(group, old, updated)
        self._start_session(group.group_id, updated)
        response = ShareGroupHeartbeatResponse(
            member_id=updated.member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=self._number(group.group_id, "share.heartbeat.interval.ms"),
        )
        if joins or names is not None or updated.assigned != old.assigned:
            response.assignment = Assignment(topic_partitions=to_topics(updated.assigned, TopicPartitions))
        initialize = self._initialize(group, update)
        return CoordinatorResult(records, Heartbeat(response, initialize))

    def _number(self, group_id: str, name: str) -> int:
        return group_config_int(self._context.host, group_id, name)

    def _initialize(self, group: ShareGroup, update: _MemberUpdate) -> ToInitialize | None:
        """Record the subscribed partitions that have no state yet, and return them."""
        initialization = group.initialization.get() or Initialization()
        retry_ms = self._context.config.values.get(_RETRY_INTERVAL, RETRY_INTERVAL_MS)
        assert isinstance(retry_ms, int)
        missing = initialization.missing(
            update.subscribers, self._image, now_ms=self._context.now_ms(), retry_ms=retry_ms
        )
        if not missing:
            return None
        update.records.append(
            share_records.initialization_record(group.group_id, initialization.with_initializing(missing), self._image)
        )
        partitions = {topic_id: topic.partitions for topic_id, topic in missing.items()}
        return ToInitialize(update.group_epoch, partitions)

    def initialized(self, group_id: str, partitions: topic_partitions.TopicPartitions) -> CoordinatorResult[None]:
        """Note that the share coordinator has the state of partitions. Mirrors initializeShareGroupState."""
        group = self._groups.find(ShareGroup, group_id)
        if group is None or not partitions:
            return CoordinatorResult([], None)
        names = topic_names(partitions, self._image)
        now_ms = self._context.now_ms()
        topics = {key: InitializedTopic(names[key], partitions[key], now_ms) for key in partitions}
        known = group.initialization.get() or Initialization()
        record = share_records.initialization_record(group_id, known.with_initialized(topics), self._image)
        return CoordinatorResult([record], None)

    def uninitialized(self, group_id: str, partitions: topic_partitions.TopicPartitions) -> CoordinatorResult[None]:
        """Forget partitions whose initialization has failed. Mirrors uninitializeShareGroupState."""
        group = self._groups.find(ShareGroup, group_id)
        known = None if group is None else group.initialization.get()
        if known is None or not known.initializing or not partitions:
            return CoordinatorResult([], None)
        left = known.without_initializing(partitions)
        return CoordinatorResult([share_records.initialization_record(group_id, left, self._image)], None)

    def delete_topics(self, topic_ids: frozenset[bytes]) -> CoordinatorResult[None]:
        """Forget the share partitions of deleted topics. Mirrors maybeCleanupShareGroupState."""
        records = []
        for group in self._groups.all_of(ShareGroup):
            known = group.initialization.get()
            if known is not None and known.has_any(topic_ids):
                left = known.without_topics(topic_ids)
                records.append(share_records.initialization_record(group.group_id, left, self._image))
        return CoordinatorResult(records, None)

    # Leaving.

    def _leave(self, request: ShareGroupHeartbeatRequest) -> CoordinatorResult[Heartbeat]:
        group = self._groups.existing_of(ShareGroup, request.group_id)
        member = group.existing_member(request.member_id)
        response = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        return self._remove(group, member, "the member left the group.", Heartbeat(response))

    def _remove(self, group: ShareGroup, member: ModernMember, reason: str, response: Any) -> CoordinatorResult[Any]:
        """Remove a member, which makes a new group epoch. Mirrors shareGroupFenceMember."""
        group_id, member_id = group.group_id, member.member_id
        self.timers.stop_all(group_id, member_id)
        self._journal.removed(group_id, member_id, reason)
        fingerprint = metadata_hash(self._image, group.subscribers_with([member], None))
        records = [
            share_records.current_assignment_tombstone(group_id, member_id),
            share_records.target_tombstone(group_id, member_id),
            share_records.member_tombstone(group_id, member_id),
            share_records.group_epoch_record(group_id, group.group_epoch.get() + 1, fingerprint),
        ]
        return CoordinatorResult(records, response)

    def _session_timeout_ms(self, group_id: str, member: ModernMember) -> int:  # noqa: ARG002
        return self._number(group_id, "share.session.timeout.ms")

    # Events and descriptions.

    def _assignment_text(self, member: ModernMember) -> str:
        return partition_names(member.assigned, self._image.topics_by_id)

    def _described(self, group: ShareGroup, committed_offset: int) -> DescribedGroup:
        return described_group(group, committed_offset, assignor=SimpleAssignor.name, topics=self._image.topics_by_id)


class _MemberUpdate:
    """The steps of one heartbeat: subscription, group epoch, target assignment, reconciliation."""

    def __init__(
        self,
        context: ShardContext,
        group: ShareGroup,
        old: ModernMember | None,
        new: ModernMember,
        records: list[CoordinatorRecord],
    ) -> None:
        self._context = context
        self._image = context.host.metadata_cache.image
        self._group = group
        self._old = old
        self._new = new
        self.records = records
        self.group_epoch = group.group_epoch.get()
        self.subscribers: Mapping[str, int] = dict(group.subscribers.items())
        self._homogeneous = is_homogeneous(self.subscribers, len(group.members))
        self._bumped = False

    def run(self, before: ModernMember) -> ModernMember:
        """Add the records of the changes, and return the member after them."""
        if self._old is None or self._new != before:
            self.records.append(share_records.member_record(self._group.group_id, self._new))
            self._bumped = self._new.subscribed_topic_names != before.subscribed_topic_names
        if self._group.assignment_epoch.get() >= self.group_epoch and self._assignment_pending():
            self._bumped = True
        self._bump_epoch()
        target_epoch, target = self._assign()
        return self._reconcile(target_epoch, target)

    def _assignment_pending(self) -> bool:
        """Return True if initialized partitions are assigned to no member. Mirrors initializedAssignmentPending."""
        initialization = self._group.initialization.get()
        if self._group.is_empty() or initialization is None:
            return False
        assigned: dict[bytes, set[int]] = {}
        for target in self._group.target.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, set()).update(partitions)
        return any(
            topic.name in self.subscribers and assigned.get(topic_id, set()) != set(topic.partitions)
            for topic_id, topic in initialization.initialized.items()
        )

    def _bump_epoch(self) -> None:
        now_ms = self._context.now_ms()
        if not self._bumped and not self._group.has_metadata_expired(now_ms):
            return
        self.subscribers = self._group.subscribers_with([] if self._old is None else [self._old], self._new)
        members = len(self._group.members) + (self._new.member_id not in self._group.members)
        self._homogeneous = is_homogeneous(self.subscribers, members)
        fingerprint = metadata_hash(self._image, self.subscribers)
        self._bumped |= fingerprint != (self._group.metadata.get() or 0)
        if self._bumped:
            self.group_epoch += 1
            self.records.append(share_records.group_epoch_record(self._group.group_id, self.group_epoch, fingerprint))
        self._group.refresh_metadata_at(now_ms + REFRESH_INTERVAL_MS, self.group_epoch)

    def _assign(self) -> tuple[int, topic_partitions.TopicPartitions]:
        group, now_ms = self._group, self._context.now_ms()
        epoch = group.assignment_epoch.get()
        interval_ms = group_config_int(self._context.host, group.group_id, "share.assignment.interval.ms")
        if epoch >= self.group_epoch or group.awaits_assignment_interval(now_ms, interval_ms):
            return epoch, group.target_of(self._new.member_id)
        initialization = group.initialization.get() or Initialization()
        assignable = {key: topic.partitions for key, topic in initialization.initialized.items()}
        target = compute_target_assignment(
            group,
            SimpleAssignor(assignable),
            group_epoch=self.group_epoch,
            updated=self._new,
            replaced_id=None,
            homogeneous=self._homogeneous,
            topics=self._image.topics,
            topic_names=_subscription,
        )
        self.records += [
            share_records.target_record(group.group_id, member_id, partitions)
            for member_id, partitions in target.changed.items()
        ]
        self.records.append(share_records.assignment_epoch_record(group.group_id, self.group_epoch, now_ms))
        return self.group_epoch, target.members.get(self._new.member_id, NO_PARTITIONS)

    def _reconcile(self, target_epoch: int, target: topic_partitions.TopicPartitions) -> ModernMember:
        member = self._new
        if not self._bumped and member.is_reconciled_to(target_epoch):
            return member
        topics = self._image.topics
        subscribed = {topics[name].topic_id for name in member.subscribed_topic_names if name in topics}
        assigned = {topic_id: partitions for topic_id, partitions in target.items() if topic_id in subscribed}
        if target_epoch != member.member_epoch:
            updated = replace(
                member,
                state=MemberState.STABLE,
                assigned=assigned,
                member_epoch=target_epoch,
                previous_member_epoch=member.member_epoch,
            )
        else:
            updated = replace(member, assigned=assigned)
        if updated != member:
            self.records.append(share_records.current_assignment_record(self._group.group_id, updated))
        return updated


def _subscription(member: Any) -> Iterable[str]:
    return sorted(member.subscribed_topic_names)


def _check_epoch(member: ModernMember, epoch: int) -> None:
    """Raise unless the epoch is the member's, or the one before. Mirrors throwIfShareGroupMemberEpochIsInvalid."""
    if epoch in (0, member.member_epoch):
        return
    if epoch > member.member_epoch:
        raise CoordinatorError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.member_epoch}). The member must abandon all its partitions and rejoin.",
        )
    if epoch != member.previous_member_epoch:
        raise CoordinatorError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.member_epoch}), and it does not match the previous member epoch "
            f"({member.previous_member_epoch}). The member must abandon all its partitions and rejoin.",
        )
