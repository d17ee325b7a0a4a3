"""Subscription, assigned partitions and positions of a consumer. Mirrors SubscriptionState.

A partition is fetched when it has a position, waits for neither a reset nor a validation, and is neither paused nor
about to be revoked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from broker_client.consumer_groups import NO_LISTENER, OffsetAndMetadata, SubscriptionPattern
from broker_client.errors import IllegalState, ProducerError
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from broker_client.consumer_groups import RebalanceListener
    from broker_client.core.consumer.offset_resets import OffsetReset

__all__ = ["NO_EPOCH", "FetchPosition", "PartitionState", "SubscriptionState", "SubscriptionType"]

NO_EPOCH = -1


class SubscriptionType(Enum):
    """How the partitions are chosen; a consumer has one way at a time."""

    NONE = auto()
    TOPICS = auto()
    PATTERN = auto()
    BROKER_PATTERN = auto()
    ASSIGNED = auto()


@dataclass(slots=True, kw_only=True, frozen=True)
class FetchPosition:
    """The next offset; the epoch of the record before it, and of the leader that it was last checked with.

    Mirrors SubscriptionState.FetchPosition; -1 where an epoch is unknown.
    """

    offset: int
    offset_epoch: int = NO_EPOCH
    leader_epoch: int = NO_EPOCH


@dataclass(slots=True, kw_only=True)
class PartitionState:
    """`reset` is the offset spec to look up when the position is to be chosen; `busy`, that a request does so now.

    `is_leaving` is True before a revocation, and `awaits_callback` until the listener was called for the assignment.
    The ends of the log are those of the latest fetch, None before the first.
    """

    position: FetchPosition | None = None
    reset: OffsetReset | None = None
    paused: bool = False
    busy: bool = False
    not_before_ms: int = 0
    is_leaving: bool = False
    awaits_callback: bool = False
    preferred_replica: int | None = None
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    log_start_offset: int | None = None
    end_requested: bool = False

    def lag(self, *, read_committed: bool) -> int | None:
        """The records from the position to the end of the log, as the isolation level has it. Mirrors partitionLag."""
        end = self.end_of_log(read_committed=read_committed)
        return None if end is None or self.position is None else end - self.position.offset

    def end_of_log(self, *, read_committed: bool) -> int | None:
        """The end of the log as the isolation level has it, None if no response had it. Mirrors partitionEndOffset."""
        return self.last_stable_offset if read_committed else self.high_watermark

    @property
    def lead(self) -> int | None:
        """The offsets from the beginning of the log to the position. Mirrors partitionLead."""
        if self.log_start_offset is None or self.position is None:
            return None
        return self.position.offset - self.log_start_offset


@dataclass(slots=True)
class SubscriptionState:
    """`states` is by partition, in the order of the assignment."""

    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    type: SubscriptionType = SubscriptionType.NONE
    subscription: dict[str, None] = field(default_factory=dict)
    group_subscription: dict[str, None] = field(default_factory=dict)
    pattern: re.Pattern[str] | None = None
    broker_pattern: SubscriptionPattern | None = None
    listener: RebalanceListener = NO_LISTENER

    @property
    def is_automatic(self) -> bool:
        """True if a group assigns the partitions."""
        return self.type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN, SubscriptionType.BROKER_PATTERN)

    @property
    def has_none(self) -> bool:
        """True if the consumer neither subscribes nor has assigned partitions."""
        return self.type is SubscriptionType.NONE

    @property
    def topics(self) -> list[str]:
        """The topics whose metadata is needed: those of the whole group on its leader."""
        if self.type is SubscriptionType.ASSIGNED or self.type is SubscriptionType.BROKER_PATTERN:
            return list(dict.fromkeys(key.topic for key in self.states))
        return list({**self.subscription, **self.group_subscription})

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener) -> bool:
        """Subscribe to topics; return True if they differ from the earlier ones."""
        self._set_type(SubscriptionType.TOPICS)
        self.listener = listener
        return self._change(topics)

    def subscribe_pattern(self, pattern: re.Pattern[str], listener: RebalanceListener) -> None:
        """Subscribe to the topics whose whole names match; the topics follow with the metadata."""
        self._set_type(SubscriptionType.PATTERN)
        self.listener = listener
        self.pattern = pattern

    def subscribe_broker_pattern(self, pattern: SubscriptionPattern, listener: RebalanceListener) -> None:
        """Subscribe to the topics whose names match a pattern that the broker evaluates (RE2J)."""
        self._set_type(SubscriptionType.BROKER_PATTERN)
        self.listener = listener
        self.broker_pattern = pattern

    def subscribe_matching(self, topics: Iterable[str]) -> bool:
        """Take the topics that match the pattern; return True if they differ from the earlier ones."""
        return self._change(topics)

    def subscribe_group(self, topics: Iterable[str]) -> bool:
        """As the leader, need the topics of all members; return True if some are new."""
        before = dict(self.group_subscription)
        self.group_subscription = dict.fromkeys(topics)
        return any(topic not in before and topic not in self.subscription for topic in self.group_subscription)

    def reset_group_subscription(self) -> None:
        """Need the member's own topics only."""
        self.group_subscription = {}

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Choose the partitions by hand; those that were assigned before keep their states."""
        self._set_type(SubscriptionType.ASSIGNED)
        self._replace(partitions)
        if not self.states:
            self.type = SubscriptionType.NONE

    def assign_from_group(self, partitions: Iterable[TopicPartition]) -> None:
        """Take the partitions that the group assigned; those that were assigned before keep their states."""
        if not self.is_automatic:
            raise IllegalState("the group assigned partitions to a consumer that does not subscribe")
        self._replace(partitions)
        for state in self.states.values():
            state.is_leaving = False

    def unsubscribe(self) -> None:
        """Have neither a subscription nor partitions."""
        self.states = {}
        self.subscription = {}
        self.group_subscription = {}
        self.pattern = None
        self.broker_pattern = None
        self.type = SubscriptionType.NONE

    def matches(self, topic: str) -> bool:
        """True if a partition of the topic may be assigned by the group."""
        if self.type is SubscriptionType.PATTERN:
            return self.pattern is not None and self.pattern.fullmatch(topic) is not None
        return self.type is SubscriptionType.BROKER_PATTERN or topic in self.subscription

    def mark_leaving(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch partitions no more: they are about to be revoked."""
        for key in partitions:
            state = self.states.get(key)
            if state is not None:
                state.is_leaving = True

    def move_to_end(self, key: TopicPartition) -> None:
        """Make a partition the last one, so that others are fetched before it."""
        self.states[key] = self.states.pop(key)

    def initializing(self) -> list[TopicPartition]:
        """The partitions without a position for which no look-up has begun."""
        return [
            key
            for key, state in self.states.items()
            if state.position is None and state.reset is None and not (state.busy or state.awaits_callback)
        ]

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of all partitions, as a commit takes them. Mirrors allConsumed."""
        return {
            key: OffsetAndMetadata(
                offset=state.position.offset,
                leader_epoch=None if state.position.offset_epoch == NO_EPOCH else state.position.offset_epoch,
            )
            for key, state in self.states.items()
            if state.position is not None and not state.busy
        }

    def of(self, key: TopicPartition) -> PartitionState:
        """The state of an assigned partition; raises ProducerError for another."""
        state = self.states.get(TopicPartition.of(key))
        if state is None:
            raise ProducerError(f"{TopicPartition.of(key)} is not assigned: assign it before seeking")
        return state

    def seek(self, key: TopicPartition, position: FetchPosition) -> None:
        """Read on from a position."""
        self._renew(key, PartitionState(position=position))

    def reset(self, key: TopicPartition, spec: int) -> None:
        """Read on from where an offset spec will be found to point."""
        self._renew(key, PartitionState(reset=spec))

    def pause(self, partitions: Iterable[TopicPartition], *, paused: bool) -> None:
        """Fetch partitions no more, or again."""
        for state in [self.of(key) for key in partitions]:
            state.paused = paused

    def prefer(self, key: TopicPartition, replica: int | None) -> None:
        """Fetch a partition from this replica; None is the leader."""
        state = self.states.get(key)
        if state is not None:
            state.preferred_replica = replica

    def back_off(self, partitions: Iterable[TopicPartition], until_ms: int) -> None:
        """Do not fetch partitions before a time in ms."""
        for key in partitions:
            state = self.states.get(key)
            if state is not None:
                state.not_before_ms = until_ms
                state.preferred_replica = None

    def fetchable(self, now_ms: int) -> list[tuple[TopicPartition, FetchPosition]]:
        """The partitions that can be fetched now."""
        return [
            (key, state.position)
            for key, state in self.states.items()
            if state.position is not None
            and not (state.paused or state.busy or state.is_leaving or state.awaits_callback)
            and state.not_before_ms <= now_ms
        ]

    # Details

    def _renew(self, key: TopicPartition, renewed: PartitionState) -> None:
        """A new object: what is under way for the old one finds another when it ends."""
        state = self.of(key)
        renewed.paused, renewed.is_leaving = state.paused, state.is_leaving
        renewed.awaits_callback = state.awaits_callback
        renewed.high_watermark, renewed.last_stable_offset = state.high_watermark, state.last_stable_offset
        renewed.log_start_offset = state.log_start_offset
        self.states[TopicPartition.of(key)] = renewed

    def _set_type(self, wanted: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, wanted):
            raise IllegalState(
                "subscriptions to topics, to a pattern and to partitions exclude each other: unsubscribe first"
            )
        self.type = wanted

    def _change(self, topics: Iterable[str]) -> bool:
        wanted = dict.fromkeys(topics)
        if wanted.keys() == self.subscription.keys():
            return False
        self.subscription = wanted
        return True

    def _replace(self, partitions: Iterable[TopicPartition]) -> None:
        keys = [TopicPartition.of(key) for key in partitions]
        self.states = {key: self.states.get(key) or PartitionState() for key in keys}
