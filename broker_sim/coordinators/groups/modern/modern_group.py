"""The state that consumer and share groups have in common. Mirrors ModernGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, TopicPartitions
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from broker_sim.coordinators.runtime.timeline_value import TimelineValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["ModernGroup"]

M = TypeVar("M", bound=ModernMember)


class ModernGroup(EpochGroup[M, TopicPartitions]):
    """A group whose members subscribe to topics."""

    def __init__(self, snapshots: SnapshotRegistry, group_id: str, *, first_epoch: int = 0) -> None:
        super().__init__(snapshots, group_id, first_epoch=first_epoch, no_target=NO_PARTITIONS)
        self.metadata: TimelineValue[Any] = TimelineValue(snapshots, None)
        """The fingerprint of the subscribed topics at the last epoch; see `subscription_metadata`."""
        self.subscribers: TimelineDict[str, int] = TimelineDict(snapshots)
        """Topic -> the number of members that name it in their subscription."""

    def _member_changed(self, old: M | None, new: M | None) -> None:
        """Count the subscribers; subclasses add their own counts."""
        if old is not None and new is not None and old.subscribed_topic_names == new.subscribed_topic_names:
            return
        count(self.subscribers, old.subscribed_topic_names if old is not None else (), -1)
        count(self.subscribers, new.subscribed_topic_names if new is not None else (), 1)

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic."""
        return topic in self.subscribers

    def uses_any(self, topics: frozenset[str]) -> bool:
        """Return True if a member subscribes to one of the topics."""
        return any(self.is_subscribed_to(topic) for topic in topics)

    def subscribers_with(self, removed: Iterable[M], added: M | None) -> dict[str, int]:
        """Return the number of subscribers per topic after a change. Mirrors computeSubscribedTopicNames."""
        counts: dict[str, int] = dict(self.subscribers.items())
        for member in removed:
            count(counts, member.subscribed_topic_names, -1)
        count(counts, added.subscribed_topic_names if added is not None else (), 1)
        return counts


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
