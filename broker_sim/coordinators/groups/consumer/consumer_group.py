"""The state of a consumer group. Mirrors ConsumerGroup. Only the replay of records changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
from broker_sim.coordinators.groups.consumer.partition_epochs import PartitionEpochs, PreviewPartitionEpochs
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.consumer.record_format import record_format
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.modern.modern_group import ModernGroup, count, is_homogeneous
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_order_of_computed, string_hash, timeline_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.coordinators.groups.group import PartitionCheck
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["NOT_RESOLVED", "PROTOCOL_TYPE", "ConsumerGroup", "ResolvedRegex"]

PROTOCOL_TYPE = GroupType.CONSUMER.value
_COMMIT_SINCE = 9
"""The first version of OffsetCommit for members of consumer groups."""


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that match an expression, as of a version of the metadata. Mirrors ResolvedRegularExpression."""

    topics: frozenset[str] = frozenset()
    version: int = -1
    timestamp_ms: int = -1


NOT_RESOLVED: Final = ResolvedRegex()


class ConsumerGroup(ModernGroup[ConsumerMember]):
    """One consumer group: its members, also those that use the classic protocol, and the owners of partitions."""

    type = GroupType.CONSUMER

    def __init__(self, snapshots: SnapshotRegistry, group_id: str, *, behaviour: ReleaseBehaviour) -> None:
        super().__init__(snapshots, group_id, first_epoch=int(behaviour.consumer_groups_begin_at_one))
        self._first_preview = behaviour.consumer_groups_are_first_previews
        self.records = record_format(behaviour)
        """The functions that make the records whose fields differ between releases."""
        self._keeps_assignment_epochs = behaviour.groups_time_their_assignments
        self.static_members: TimelineDict[str, str] = TimelineDict(snapshots)
        """Instance id -> member id."""
        self.regexes: TimelineDict[str, ResolvedRegex] = TimelineDict(snapshots)
        """The topics of the regular expressions that are resolved."""
        self._homogeneous: TimelineValue[bool] = TimelineValue(snapshots, True)
        self.regex_subscribers: TimelineDict[str, int] = TimelineDict(snapshots)
        self.assignors: TimelineDict[str, int] = TimelineDict(snapshots)
        """Assignor -> the number of members that request it."""
        self.classic_protocols: TimelineDict[str, int] = TimelineDict(snapshots)
        """Protocol -> the number of classic members that support it."""
        self._owners = (PreviewPartitionEpochs if self._first_preview else PartitionEpochs)(snapshots)

    # State.

    def state_name(self, committed_offset: int | None = None) -> str:
        """Return the state as responses name it."""
        name = super().state_name(committed_offset)
        return name.lower() if self._first_preview else name

    # Members.

    def _member_changed(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        super()._member_changed(old, new)
        for counts, keys_of in (
            (self.regex_subscribers, _regexes_of),
            (self.assignors, _assignors_of),
            (self.classic_protocols, _classic_protocols_of),
        ):
            count(counts, keys_of(old), -1)
            count(counts, keys_of(new), 1)
        self._homogeneous.set(
            self.has_homogeneous(
                dict(self.subscribers.items()), dict(self.regex_subscribers.items()), len(self.members)
            )
        )
        self._owners.change_member(old, new)
        if new is not None:
            if new.instance_id is not None:
                self.static_members[new.instance_id] = new.member_id
        elif (
            old is not None
            and old.instance_id is not None
            and self.static_members.get(old.instance_id) == old.member_id
        ):
            self.static_members.pop(old.instance_id)

    def new_member(self, member_id: str) -> ConsumerMember:
        """Return a member that has not joined yet."""
        return (PreviewMember if self._first_preview else ConsumerMember)(member_id=member_id)

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member that holds an instance id."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.existing_member(member_id)

    def is_free(self, topic_id: bytes, partition: int) -> bool:
        """Return True if no member has the partition or must still revoke it."""
        return self._owners.is_free(topic_id, partition)

    def target_for(self, member_id: str, instance_id: str | None) -> TopicPartitions:
        """Return the target assignment of a member; a static one has that of its instance id."""
        holder = None if instance_id is None else self.static_members.get(instance_id)
        return self.target_of(holder or member_id)

    @property
    def classic_members(self) -> int:
        """The number of members that use the classic protocol."""
        return sum(member.uses_classic_protocol for member in self.members.values())

    def all_use_classic_protocol_except(self, member_id: str) -> bool:
        """Return True if the member is the only one that uses the consumer protocol."""
        others = [member for member in self.members.values() if member.member_id != member_id]
        alone = all(member.uses_classic_protocol for member in others)
        return alone and not self.existing_member(member_id).uses_classic_protocol

    def supports_classic_protocols(self, protocol_type: str, protocols: list[str]) -> bool:
        """Return True if a member with these classic protocols may join. Mirrors supportsClassicProtocols."""
        if protocol_type != PROTOCOL_TYPE:
            return False
        if self.is_empty():
            return bool(protocols)
        members = self.classic_members
        return any((self.classic_protocols.get(name) or 0) == members for name in protocols)

    # Subscriptions.

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic, by name or by expression."""
        return super().is_subscribed_to(topic) or any(topic in resolved.topics for resolved in self.regexes.values())

    def topics_of(self, member: ConsumerMember) -> list[str]:
        """Return the names that a member subscribes to, with those of its resolved expression."""
        regex = member.subscribed_topic_regex
        resolved = (self.regexes.get(regex) if regex else None) or NOT_RESOLVED
        return hash_order(member.subscribed_topic_names | resolved.topics)

    def all_topics(self, subscribers: Mapping[str, int], regexes: Mapping[str, int]) -> list[str]:
        """Return all topics of subscriptions, names and expressions with their subscribers, as their map has them."""
        topics = set(subscribers).union(*((self.regexes.get(regex) or NOT_RESOLVED).topics for regex in regexes))
        return hash_order(sorted(topics))

    def regex_subscribers_with(self, removed: Iterable[ConsumerMember], added: ConsumerMember | None) -> dict[str, int]:
        """Return the number of subscribers per expression after a change."""
        counts = dict(self.regex_subscribers.items())
        for member in removed:
            count(counts, _regexes_of(member), -1)
        count(counts, _regexes_of(added), 1)
        return counts

    @property
    def is_homogeneous(self) -> bool:
        """True if all members subscribed alike when the last one changed. Mirrors ModernGroup.subscriptionType."""
        return bool(self._homogeneous.get())

    def has_homogeneous(self, subscribers: Mapping[str, int], regexes: Mapping[str, int], members: int) -> bool:
        """Return True if all members subscribe to the same names, or to nothing but the same expression.

        A topic of another resolved expression makes it False: also of one that no member has any more, whose record is
        deleted after that of the member.
        """
        if not regexes:
            return is_homogeneous(subscribers, members)
        if list(regexes.values()) != [members] or subscribers:
            return False
        resolved = [topic for each in self.regexes.values() for topic in each.topics]
        return len(set(resolved)) == len(resolved)

    def preferred_assignor(self, default: str, committed_offset: int) -> str:
        """Return the assignor that most members requested as of an offset. Mirrors preferredServerAssignor."""
        counts = self.assignors.at(committed_offset)
        return _most_requested(_timeline_names(counts), counts, default)

    def preferred_assignor_with(self, old: ConsumerMember | None, new: ConsumerMember | None, default: str) -> str:
        """Return the assignor that most members request after a change. Mirrors computePreferredServerAssignor.

        Kafka copies its table. An assignor that the changed member alone requests comes first in its bucket.
        """
        counts = dict(self.assignors.items())
        known = _timeline_names(counts)
        count(counts, _assignors_of(old), -1)
        added = next((name for name in _assignors_of(new) if name not in counts), None)
        count(counts, _assignors_of(new), 1)
        names = [name for name in hash_order_of_computed(known, added) if name in counts]
        return _most_requested(names, counts, default)

    # The checks of offsets and of administration.

    def check_offset_commit(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        transactional: bool,
        api_version: int,
    ) -> PartitionCheck | None:
        """Raise unless the member may commit offsets. Mirrors validateOffsetCommit.

        Where members know the epoch of each partition, an earlier member epoch may commit the partitions that the
        member has had since then (KIP-1251).
        """
        names_no_member = transactional and member_epoch == -1 and not member_id and group_instance_id is None
        if (member_epoch < 0 and self.is_empty()) or (names_no_member and self._keeps_assignment_epochs):
            return None
        member = self.existing_member(member_id)
        serves_version = api_version >= _COMMIT_SINCE or self._first_preview
        if not (transactional or member.uses_classic_protocol or serves_version):
            raise CoordinatorError(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the modern group protocol",
            )
        if self._first_preview and api_version < _COMMIT_SINCE and member_epoch != member.member_epoch:
            raise CoordinatorError(ErrorCode.UNSUPPORTED_VERSION)  # the version has no STALE_MEMBER_EPOCH
        if not self._keeps_assignment_epochs or member_epoch >= member.member_epoch:
            _check_epoch(member, member_epoch)
            return None
        stale = ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH
        epochs = member.assignment_epochs

        def check(_: str, topic_id: bytes, partition: int) -> None:
            since = epochs.get((topic_id, partition))
            if since is None or member_epoch < since:
                raise CoordinatorError(stale)

        return check

    def check_offset_fetch(self, *, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        """Raise unless the member may fetch offsets. Mirrors validateOffsetFetch."""
        if member_id is None:
            if member_epoch < 0:
                return
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka looks a null id up
        _check_epoch(self.existing_member(member_id, committed_offset), member_epoch)

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        return self.tombstones_of(self.member_ids())

    def tombstones_of(self, member_ids: list[str]) -> list[CoordinatorRecord]:
        """Return the records that delete the group and these members. Mirrors createGroupTombstoneRecords."""
        group_id = self.group_id
        return [
            *(consumer_records.current_assignment_tombstone(group_id, member_id) for member_id in member_ids),
            *(consumer_records.target_tombstone(group_id, member_id) for member_id in member_ids),
            consumer_records.assignment_epoch_tombstone(group_id),
            *(consumer_records.member_tombstone(group_id, member_id) for member_id in member_ids),
            *(consumer_records.regex_tombstone(group_id, regex) for regex in hash_order(self.regexes)),
            consumer_records.partition_metadata_tombstone(group_id),
            consumer_records.group_epoch_tombstone(group_id),
        ]


def _timeline_names(counts: Mapping[str, int]) -> list[str]:
    names = list(counts)
    return [names[place] for place in timeline_order(map(string_hash, names))]


def _most_requested(names: list[str], counts: Mapping[str, int], default: str) -> str:
    """Return the first of the names with the highest count."""
    return max(names, key=counts.__getitem__, default=default)


def _check_epoch(member: ConsumerMember, received: int) -> None:
    if received == member.member_epoch:
        return
    if member.uses_classic_protocol:
        raise CoordinatorError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The received generation id {received} does not match the expected member epoch {member.member_epoch}.",
        )
    raise CoordinatorError(
        ErrorCode.STALE_MEMBER_EPOCH,
        f"The received member epoch {received} does not match the expected member epoch {member.member_epoch}.",
    )


def _regexes_of(member: ConsumerMember | None) -> list[str]:
    return [member.subscribed_topic_regex] if member is not None and member.subscribed_topic_regex else []


def _assignors_of(member: ConsumerMember | None) -> list[str]:
    return [member.server_assignor] if member is not None and member.server_assignor is not None else []


def _classic_protocols_of(member: ConsumerMember | None) -> list[str]:
    return [name for name, _ in member.classic.protocols] if member is not None and member.classic is not None else []
