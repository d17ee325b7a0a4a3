"""The partitions of a consumer and its positions: SubscriptionState with manual assignment alone.

A partition is fetched when it has a position, waits for neither a reset nor a validation, and is not paused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_client.errors import ProducerError
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NO_EPOCH", "FetchPosition", "PartitionState", "SubscriptionState"]

NO_EPOCH = -1


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
    """`reset` is the offset spec to look up when the position is to be chosen; `busy`, that a request does so now."""

    position: FetchPosition | None = None
    reset: int | None = None
    paused: bool = False
    busy: bool = False
    not_before_ms: int = 0


@dataclass(slots=True)
class SubscriptionState:
    """By partition, in the order of the assignment."""

    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Replace the assignment; what was assigned before keeps its state."""
        self.states = {key: self.states.get(key) or PartitionState() for key in _named(partitions)}

    def of(self, key: TopicPartition) -> PartitionState:
        """The state of an assigned partition; raises ProducerError for another."""
        state = self.states.get(TopicPartition(*key))
        if state is None:
            raise ProducerError(f"{TopicPartition(*key)} is not assigned: assign it before seeking")
        return state

    def seek(self, key: TopicPartition, position: FetchPosition) -> None:
        """Read on from a position."""
        state = self.of(key)
        # A new object: what is under way for the old one finds another when it ends.
        self.states[TopicPartition(*key)] = PartitionState(position=position, paused=state.paused)

    def reset(self, key: TopicPartition, spec: int) -> None:
        """Read on from where an offset spec will be found to point."""
        state = self.of(key)
        self.states[TopicPartition(*key)] = PartitionState(reset=spec, paused=state.paused)

    def pause(self, partitions: Iterable[TopicPartition], *, paused: bool) -> None:
        """Fetch partitions no more, or again."""
        for state in [self.of(key) for key in partitions]:
            state.paused = paused

    def fetchable(self, now_ms: int) -> list[tuple[TopicPartition, FetchPosition]]:
        """The partitions that can be fetched now."""
        return [
            (key, state.position)
            for key, state in self.states.items()
            if state.position is not None and not (state.paused or state.busy) and state.not_before_ms <= now_ms
        ]


def _named(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return [TopicPartition(*key) for key in partitions]
