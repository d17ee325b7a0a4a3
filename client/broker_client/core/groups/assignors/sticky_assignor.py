"""Balanced assignments that move few partitions. Mirrors StickyAssignor and AbstractStickyAssignor.

Members with equal subscriptions are served by quota, others by the general algorithm that balances step by step.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_client.core.groups.assignors.assignor import (
    DEFAULT_GENERATION,
    PartitionRacks,
    TopicPartitionAssignor,
)
from broker_client.core.groups.assignors.equal_subscriptions import EqualSubscriptions
from broker_client.core.groups.assignors.rack_matching import RackMatching
from broker_client.core.groups.assignors.unequal_subscriptions import UnequalSubscriptions
from broker_client.core.groups.consumer_protocol import partitions_by_topic
from broker_client.core.groups.hash_order import in_hash_order
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.consumer_groups import ConsumerGroupMetadata
    from broker_client.core.groups.consumer_protocol import Assignment, Subscription

__all__ = ["AbstractStickyAssignor", "MemberData", "StickyAssignor"]

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


@dataclass(slots=True)
class MemberData:
    """The partitions that a member owned, and their generation; None if it does not report one."""

    partitions: list[TopicPartition] = field(default_factory=list)
    generation: int | None = None


class AbstractStickyAssignor(TopicPartitionAssignor):
    """The algorithm; subclasses know how members report what they own."""

    @abstractmethod
    def member_data(self, subscription: Subscription) -> MemberData:
        """Return the partitions that a member reports to own."""

    def assign_partitions(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign; the result still has the partitions that change their owner."""
        assigned, _ = self.assign_with_transfers(partitions, subscriptions)
        return assigned

    def assign_with_transfers(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> tuple[dict[str, list[TopicPartition]], dict[TopicPartition, str] | None]:
        """Return the assignment, and the new owners of partitions that change theirs; None if those are not known."""
        members = {member: self.member_data(one) for member, one in subscriptions.items()}
        owned = _Owned(partitions, subscriptions, members)
        racks = RackMatching(partitions, subscriptions)
        if owned.has_equal_subscriptions:
            builder = EqualSubscriptions(partitions, racks, owned.by_member, owned.claimed_twice)
            return builder.build(), builder.transfers
        return UnequalSubscriptions(partitions, racks, owned.by_member, subscriptions, owned.previous).build(), None


class _Owned:
    """The partitions that each member keeps: of two claims that of the newer generation, of equal ones none."""

    def __init__(
        self,
        partitions: Mapping[str, Sequence[PartitionRacks]],
        subscriptions: Mapping[str, Subscription],
        members: Mapping[str, MemberData],
    ) -> None:
        topics = {member: frozenset(one.topics) for member, one in subscriptions.items()}
        first: frozenset[str] = frozenset()
        self.has_equal_subscriptions = True
        for names in topics.values():
            first = first or names
            self.has_equal_subscriptions = self.has_equal_subscriptions and names == first
        self.by_member: dict[str, list[TopicPartition]] = {}
        self.claimed_twice: dict[TopicPartition, None] = {}
        generations = {
            member: DEFAULT_GENERATION if one.generation is None else one.generation for member, one in members.items()
        }
        newest = max((DEFAULT_GENERATION, *generations.values()))
        owners: dict[TopicPartition, str] = {}
        for member in in_hash_order(subscriptions):
            kept = self.by_member[member] = []
            for key in members[member].partitions:
                if key.topic not in partitions:
                    continue
                other = owners.get(key)
                if other is None:
                    kept.append(key)
                    owners[key] = member
                    continue
                others = subscriptions[other].generation_id
                other_generation = DEFAULT_GENERATION if others is None else others
                if generations[member] == other_generation:
                    self.claimed_twice[key] = None
                    _discard(self.by_member[other], key)
                    owners[key] = member
                elif generations[member] > other_generation:
                    kept.append(key)
                    _discard(self.by_member[other], key)
                    owners[key] = member
        self.previous = _previous_owners(members, newest)


def _previous_owners(members: Mapping[str, MemberData], newest: int) -> dict[TopicPartition, tuple[str, int]]:
    """The owners of partitions in older generations: the newest of them per partition."""
    previous: dict[TopicPartition, tuple[str, int]] = {}
    for member in in_hash_order(members):
        generation = members[member].generation
        if generation is None and newest > DEFAULT_GENERATION:
            generation = DEFAULT_GENERATION
        elif generation is None or generation >= newest:
            continue
        for key in members[member].partitions:
            if key not in previous or generation > previous[key][1]:
                previous[key] = (member, generation)
    return previous


class StickyAssignor(AbstractStickyAssignor):
    """Eager; a member reports the partitions of its last assignment as user data."""

    name = "sticky"

    def __init__(self) -> None:
        self._assigned: list[TopicPartition] | None = None
        self._generation = DEFAULT_GENERATION

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Remember the partitions and their generation."""
        self._assigned = assignment.partitions
        self._generation = metadata.generation_id

    def subscription_user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return the partitions of the last assignment and its generation, in version 1."""
        del topics
        if self._assigned is None:
            return None
        grouped = partitions_by_topic(self._assigned)
        parts = [_INT32.pack(len(grouped))]
        for topic in in_hash_order(grouped):
            name = topic.encode()
            numbers = grouped[topic]
            parts += [
                _INT16.pack(len(name)),
                name,
                _INT32.pack(len(numbers)),
                struct.pack(f">{len(numbers)}i", *numbers),
            ]
        parts.append(_INT32.pack(self._generation))
        return b"".join(parts)

    def member_data(self, subscription: Subscription) -> MemberData:
        """Read user data of version 1, else of version 0, which has no generation."""
        if not subscription.user_data:
            return MemberData()
        try:
            return _read_user_data(subscription.user_data)
        except (struct.error, UnicodeDecodeError):
            return MemberData(generation=DEFAULT_GENERATION)


def _read_user_data(data: bytes) -> MemberData:
    (topic_count,) = _INT32.unpack_from(data)
    position = _INT32.size
    partitions: list[TopicPartition] = []
    for _ in range(topic_count):
        (length,) = _INT16.unpack_from(data, position)
        position += _INT16.size
        if position + max(length, 0) > len(data):
            raise struct.error("the topic name is cut off")
        topic = bytes(data[position : position + length]).decode()
        position += length
        (count,) = _INT32.unpack_from(data, position)
        position += _INT32.size
        if count > (len(data) - position) // _INT32.size:
            raise struct.error("the partition numbers are cut off")
        numbers = struct.unpack_from(f">{max(count, 0)}i", data, position)
        position += _INT32.size * max(count, 0)
        partitions += [TopicPartition(topic, number) for number in numbers]
    if len(data) - position < _INT32.size:
        return MemberData(partitions)
    return MemberData(partitions, _INT32.unpack_from(data, position)[0])


def _discard(partitions: list[TopicPartition], key: TopicPartition) -> None:
    if key in partitions:
        partitions.remove(key)
