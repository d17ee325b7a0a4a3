"""The state that consumer and share groups have in common. Mirrors ModernGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["ModernGroup"]

M = TypeVar("M", bound=ModernMember)


class ModernGroup(Generic[M]):
    """Epochs, members, target assignments and subscriptions of one group. Only the replay of records changes them."""

    def __init__(self, snapshots: SnapshotRegistry, group_id: str, *, first_epoch: int = 0) -> None:
        self.group_id = group_id
        self.group_epoch: TimelineValue[int] = TimelineValue(snapshots, first_epoch)
        self.assignment_epoch: TimelineValue[int] = TimelineValue(snapshots, first_epoch)
        """The group epoch for which the target assignment was computed; -1 once it is deleted."""
        self.metadata: TimelineValue[Any] = TimelineValue(snapshots, None)
        """The fingerprint of the subscribed topics at the last epoch; see `subscription_metadata`."""
        self.members: TimelineDict[str, M] = TimelineDict(snapshots)
        self.target: TimelineDict[str, TopicPartitions] = TimelineDict(snapshots)
        self.subscribers: TimelineDict[str, int] = TimelineDict(snapshots)
        """Topic -> the number of members that name it in their subscription."""
        self._refresh_at_ms = 0
        self._refresh_epoch = 0

    # Members.

    def existing_member(self, member_id: str) -> M:
        """Return a member.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID.
        """
        member = self.members.get(member_id)
        if member is None:
            raise CoordinatorError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return member

    def put_member(self, member: M) -> None:
        """Add a member, or replace it."""
        old = self.members.get(member.member_id)
        self.members[member.member_id] = member
        self._member_changed(old, member)

    def remove_member(self, member_id: str) -> None:
        """Remove a member; does nothing if there is none."""
        old = self.members.pop(member_id)
        if old is not None:
            self._member_changed(old, None)

    def _member_changed(self, old: M | None, new: M | None) -> None:
        """Keep what is counted over all members; subclasses add their own."""
        if old is not None and new is not None and old.subscribed_topic_names == new.subscribed_topic_names:
            return
        count(self.subscribers, old.subscribed_topic_names if old is not None else (), -1)
        count(self.subscribers, new.subscribed_topic_names if new is not None else (), 1)

    def is_empty(self) -> bool:
        """Return True if the group has no members."""
        return not self.members

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic."""
        return topic in self.subscribers

    def target_of(self, member_id: str) -> TopicPartitions:
        """Return the target assignment of a member, which is empty if it has none."""
        target = self.target.get(member_id)
        return NO_PARTITIONS if target is None else target

    # The subscribed topics.

    def subscribers_with(self, removed: Iterable[M], added: M | None) -> dict[str, int]:
        """Return the number of subscribers per topic after a change. Mirrors computeSubscribedTopicNames."""
        counts: dict[str, int] = dict(self.subscribers.items())
        for member in removed:
            count(counts, member.subscribed_topic_names, -1)
        count(counts, added.subscribed_topic_names if added is not None else (), 1)
        return counts

    def has_metadata_expired(self, now_ms: int) -> bool:
        """Return True if the fingerprint of the topics must be computed again. Mirrors hasMetadataExpired."""
        return now_ms >= self._refresh_at_ms or self.group_epoch.get() < self._refresh_epoch

    def refresh_metadata_at(self, deadline_ms: int, group_epoch: int) -> None:
        """Compute the fingerprint again at a time, or when the write of this epoch was reverted."""
        self._refresh_at_ms, self._refresh_epoch = deadline_ms, group_epoch

    def request_metadata_refresh(self) -> None:
        """Compute the fingerprint again at the next heartbeat: a topic has changed."""
        self._refresh_at_ms = self._refresh_epoch = 0


def is_homogeneous(subscribers: Mapping[str, int], members: int) -> bool:
    """Return True if all members subscribe to the same topics. Mirrors ModernGroup.subscriptionType."""
    return all(subscribed == members for subscribed in subscribers.values())


def count(counts: Any, keys: Any, difference: int) -> None:
    """Add to the counts of keys in a dictionary, which loses keys at 0."""
    for key in keys:
        number = (counts.get(key) or 0) + difference
        if number > 0:
            counts[key] = number
        elif key in counts:
            counts.pop(key)
