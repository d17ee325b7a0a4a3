"""Ranges of offsets with one delivery state, and how later ranges replace earlier ones. Mirrors PersisterStateBatch and
PersisterStateBatchCombiner.

Where ranges overlap, the higher delivery count wins, then the higher state: deliveries are only ever counted up, and a
terminal state has a higher number than AVAILABLE.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["StateBatch", "combined"]


class StateBatch(NamedTuple):
    """Offsets from first to last, both included. The order of the fields is the order of sorting."""

    first_offset: int
    last_offset: int
    delivery_count: int
    delivery_state: int

    @property
    def priority(self) -> tuple[int, int]:
        """The greater one wins where two batches overlap."""
        return self.delivery_count, self.delivery_state


def combined(batches: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Return the batches without overlaps, and without the offsets below `start_offset` (-1: all are kept).

    Neighbours of equal state are merged, except with a batch that precedes the first overlap: Kafka keeps those apart.
    """
    kept = _from_offset(batches, start_offset)
    if len(kept) < 2:
        return tuple(kept)
    finished: list[StateBatch] = []
    waiting = sorted(set(kept))
    while (index := _first_pair(waiting)) is not None:
        finished += waiting[:index]
        pair = _resolved(waiting[index], waiting[index + 1])
        del waiting[: index + 2]
        for batch in pair:
            place = bisect_left(waiting, batch)
            if waiting[place : place + 1] != [batch]:
                waiting.insert(place, batch)
    return (*finished, *waiting)


def _from_offset(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    if start_offset == -1:
        return list(batches)
    return [
        batch if batch.first_offset >= start_offset else batch._replace(first_offset=start_offset)
        for batch in batches
        if batch.last_offset >= start_offset
    ]


def _first_pair(batches: list[StateBatch]) -> int | None:
    """Return the index of the first batch that overlaps the next one, or continues it with the same state."""
    for index in range(len(batches) - 1):
        previous, following = batches[index], batches[index + 1]
        if following.first_offset <= previous.last_offset or (
            following.first_offset == previous.last_offset + 1 and following.priority == previous.priority
        ):
            return index
    return None


def _resolved(previous: StateBatch, following: StateBatch) -> list[StateBatch]:
    """Return the batches that replace two overlapping ones; `previous` sorts before `following`."""
    if previous.priority == following.priority:
        return [previous._replace(last_offset=max(previous.last_offset, following.last_offset))]
    if following.priority < previous.priority:
        if following.last_offset <= previous.last_offset:
            return [previous]
        return [previous, following._replace(first_offset=previous.last_offset + 1)]
    parts = [following]
    if previous.first_offset < following.first_offset:
        parts.insert(0, previous._replace(last_offset=following.first_offset - 1))
    if following.last_offset < previous.last_offset:
        parts.append(previous._replace(first_offset=following.last_offset + 1))
    return parts
