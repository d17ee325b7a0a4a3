"""A range of offsets in delivery: with one state, or with one per offset. Mirrors InFlightBatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.share_partitions.in_flight_state import NO_MEMBER, InFlightState
from broker_sim.share_partitions.record_states import RecordState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.share_partitions.acquisition_lock import AcquisitionLocks

__all__ = ["InFlightBatch"]


class InFlightBatch:
    """Offsets from first to last. `whole` is the state of all, or None with a state per offset in `offsets`."""

    __slots__ = ("first_offset", "last_offset", "offsets", "whole")

    def __init__(self, first_offset: int, last_offset: int, state: InFlightState) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.whole: InFlightState | None = state
        self.offsets: dict[int, InFlightState] = {}

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.last_offset - self.first_offset + 1

    def is_within(self, first_offset: int, last_offset: int) -> bool:
        """Return True if a range has all offsets."""
        return first_offset <= self.first_offset and self.last_offset <= last_offset

    def parts(self) -> Iterator[tuple[int, int, InFlightState]]:
        """Iterate over the states, each with its first and last offset."""
        if self.whole is not None:
            yield self.first_offset, self.last_offset, self.whole
        else:
            for offset, state in self.offsets.items():
                yield offset, offset, state

    def states_between(self, first_offset: int, last_offset: int) -> Iterator[tuple[int, InFlightState]]:
        """Iterate over the states of the offsets of a range; the batch has one per offset."""
        for offset in range(max(first_offset, self.first_offset), min(last_offset, self.last_offset) + 1):
            yield offset, self.offsets[offset]

    def split(self, locks: AcquisitionLocks) -> None:
        """Keep a state per offset from now on, each with a lock of its own if the batch is locked."""
        whole = self.whole
        if whole is None:
            return
        for offset in range(self.first_offset, self.last_offset + 1):
            lock = None if whole.lock is None else locks.split(whole.lock, offset)
            self.offsets[offset] = InFlightState(whole.state, whole.delivery_count, whole.member_id, lock)
        whole.cancel_lock()
        self.whole = None

    def split_acquired(self, last_acquired: int, locks: AcquisitionLocks, lock_ms: int) -> None:
        """Keep a state per offset of a new batch: those after `last_acquired` are not delivered yet."""
        whole = self.whole
        assert whole is not None
        for offset in range(self.first_offset, self.last_offset + 1):
            if offset <= last_acquired:
                lock = locks.lock(offset, offset, lock_ms)
                self.offsets[offset] = InFlightState(whole.state, whole.delivery_count, whole.member_id, lock)
            else:
                self.offsets[offset] = InFlightState(RecordState.AVAILABLE, whole.delivery_count - 1, NO_MEMBER)
        self.whole = None
