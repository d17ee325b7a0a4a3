"""Which replicas count: the ISR as committed and as proposed, and how far each follower is. Mirrors Partition's
CommittedPartitionState, PendingExpandIsr and PendingShrinkIsr, and Replica with its ReplicaState.

The leader proposes an ISR to the controller (AlterPartition, KIP-497) and must not rely on its success: while an
expansion is pending the high watermark already waits for the newcomer (the maximal ISR), while a shrink is pending
it still waits for the followers that are to leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

UNKNOWN_OFFSET: Final = -1
ANY_BROKER_EPOCH: Final = -1


class IsrChange(Enum):
    """The leader's proposal that waits for the controller's response."""

    NONE = auto()
    EXPAND = auto()
    SHRINK = auto()


@dataclass(frozen=True, slots=True, eq=False)
class IsrState:
    """One state of the leader's view; each change makes a new object, which identifies the response to its proposal."""

    isr: tuple[int, ...]
    """As committed."""
    maximal_isr: tuple[int, ...]
    """The replicas that the high watermark waits for: the committed ISR and the replicas about to join it."""
    proposed_isr: tuple[int, ...]
    change: IsrChange

    @property
    def in_flight(self) -> bool:
        """True if a proposal waits for the controller."""
        return self.change is not IsrChange.NONE


def committed(isr: tuple[int, ...]) -> IsrState:
    """Return the state without a proposal."""
    return IsrState(isr, isr, isr, IsrChange.NONE)


def expanding(isr: tuple[int, ...], newcomer: int) -> IsrState:
    """Return the state of a proposal to add one follower."""
    larger = (*isr, newcomer)
    return IsrState(isr, larger, larger, IsrChange.EXPAND)


def shrinking(isr: tuple[int, ...], leaving: tuple[int, ...]) -> IsrState:
    """Return the state of a proposal to remove followers that lag."""
    return IsrState(isr, isr, tuple(replica for replica in isr if replica not in leaving), IsrChange.SHRINK)


class FollowerState:
    """A leader's state of one follower, derived from the offsets of its fetches alone."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.last_fetch_leader_end_offset = 0
        self.last_fetch_ms = 0
        self.last_caught_up_ms = 0
        self.broker_epoch: int | None = None

    def reset(self, *, now_ms: int, leader_end_offset: int, new_leader: bool, in_sync: bool) -> None:
        """Start over in a new leader epoch; a follower in the ISR counts as caught up at its start."""
        self.last_caught_up_ms = now_ms if in_sync else 0
        if new_leader:
            self.log_start_offset = UNKNOWN_OFFSET
            self.log_end_offset = UNKNOWN_OFFSET
            self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
            self.last_fetch_ms = 0
            self.broker_epoch = None
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            self.last_fetch_ms = now_ms if in_sync else 0

    def fetched(
        self, fetch_offset: int, log_start_offset: int, now_ms: int, leader_end_offset: int, broker_epoch: int
    ) -> None:
        """Record a fetch. One that reaches the log end of the previous fetch's time was caught up at that time."""
        caught_up_ms = self.last_caught_up_ms
        if fetch_offset >= leader_end_offset:
            caught_up_ms = now_ms
        elif fetch_offset >= self.last_fetch_leader_end_offset:
            caught_up_ms = self.last_fetch_ms
        if caught_up_ms > self.last_caught_up_ms:  # noqa: PLR1730 - a call costs more
            self.last_caught_up_ms = caught_up_ms
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        if leader_end_offset > self.last_fetch_leader_end_offset:  # noqa: PLR1730
            self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_max_ms: int) -> bool:
        """Return True if the follower has the whole log, or had it within the last `lag_max_ms`."""
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= lag_max_ms

    def __repr__(self) -> str:
        return f"FollowerState({self.broker_id}, leo={self.log_end_offset}, last_caught_up_ms={self.last_caught_up_ms})"
