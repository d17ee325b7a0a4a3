"""The batches in delivery, by first offset. In place of the skip list of SharePartition.cachedState."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.share_partitions.in_flight_batch import InFlightBatch

__all__ = ["InFlightBatches"]


class InFlightBatches:
    """A sorted map; the batches of a share partition do not overlap."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: dict[int, InFlightBatch] = {}

    def __len__(self) -> int:
        return len(self._firsts)

    def __iter__(self) -> Iterator[InFlightBatch]:
        return iter([self._batches[first] for first in self._firsts])

    @property
    def first(self) -> InFlightBatch:
        """The batch with the lowest offsets."""
        return self._batches[self._firsts[0]]

    @property
    def last(self) -> InFlightBatch:
        """The batch with the highest offsets."""
        return self._batches[self._firsts[-1]]

    def add(self, batch: InFlightBatch) -> None:
        """Add a batch, or replace the one with the same first offset."""
        first = batch.first_offset
        if first not in self._batches:
            self._firsts.insert(bisect_left(self._firsts, first), first)
        self._batches[first] = batch

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the batch with the highest first offset that is not above `offset`."""
        place = bisect_right(self._firsts, offset)
        return self._batches[self._firsts[place - 1]] if place else None

    def following(self, offset: int) -> InFlightBatch | None:
        """Return the batch with the lowest first offset above `offset`."""
        place = bisect_right(self._firsts, offset)
        return self._batches[self._firsts[place]] if place < len(self._firsts) else None

    def between(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """Return the batches whose first offsets are in a range, both ends included."""
        begin, end = bisect_left(self._firsts, first_offset), bisect_right(self._firsts, last_offset)
        return [self._batches[first] for first in self._firsts[begin:end]]

    def remove_before(self, first_offset: int) -> None:
        """Remove the batches whose first offsets are below `first_offset`."""
        end = bisect_left(self._firsts, first_offset)
        for first in self._firsts[:end]:
            del self._batches[first]
        del self._firsts[:end]

    def clear(self) -> None:
        """Remove all batches."""
        self._firsts.clear()
        self._batches.clear()
