"""The order of sends by the column: the stretches of a process's sends to a partition that are out of order in its log.

A cut between two sends is where all sends before have lower offsets than all sends after. Sends between two cuts have
to do with each other alone: a stretch without a cut is judged by itself as in the whole history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

__all__ = ["Stretch", "disordered_ranges", "inside_ranges", "joined_ranges", "stretches_of"]

_ORDERED_MAX: Final = 1_000
"""The most sends of one ordered stretch: so many are set apart if a send elsewhere belongs between them."""


class Stretch(NamedTuple):
    """Consecutive sends: their lowest and highest index and offset."""

    first_index: int
    last_index: int
    low: int
    high: int
    is_ordered: bool


def stretches_of(indexes: Ints, offsets: Ints) -> Iterator[Stretch]:
    """Divide sends, which are sorted by their indexes, at cuts. A stretch out of order has no cut within it."""
    count = len(indexes)
    if (offsets[1:] > offsets[:-1]).all():
        yield from _ordered(indexes, offsets, 0, count)
        return
    highest, lowest = np.maximum.accumulate(offsets), np.minimum.accumulate(offsets[::-1])[::-1]
    starts = np.concatenate([[0], np.flatnonzero(highest[:-1] < lowest[1:]) + 1])
    ends = np.append(starts[1:], count)
    done = 0
    for at in np.flatnonzero(ends - starts > 1).tolist():
        first, end = int(starts[at]), int(ends[at])
        yield from _ordered(indexes, offsets, done, first)
        mine = offsets[first:end]
        yield Stretch(int(indexes[first]), int(indexes[end - 1]), int(mine.min()), int(mine.max()), is_ordered=False)
        done = end
    yield from _ordered(indexes, offsets, done, count)


def disordered_ranges(stretches: Iterable[Stretch]) -> Ints:
    """Return the ranges of indexes, each with its end, in which the stretches of all blocks are not in order."""
    merged: list[Stretch] = []
    for stretch in sorted(stretches):
        joined = stretch
        while merged and (merged[-1].last_index >= joined.first_index or merged[-1].high >= joined.low):
            one = merged.pop()
            joined = Stretch(
                one.first_index,
                max(one.last_index, joined.last_index),
                min(one.low, joined.low),
                max(one.high, joined.high),
                is_ordered=False,
            )
        merged.append(joined)
    return np.array(
        [(each.first_index, each.last_index + 1) for each in merged if not each.is_ordered], np.int64
    ).ravel()


def joined_ranges(one: Ints, two: Ints) -> Ints:
    """Return the union of ranges."""
    merged: list[list[int]] = []
    for first, end in sorted([*one.reshape(-1, 2).tolist(), *two.reshape(-1, 2).tolist()]):
        if merged and merged[-1][1] >= first:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([first, end])
    return np.array(merged, np.int64).ravel()


def inside_ranges(ranges: Ints, indexes: Ints) -> Bools:
    """Return which of the indexes are within the ranges."""
    inside: Bools = np.searchsorted(ranges, indexes, "right") % 2 == 1
    return inside


def _ordered(indexes: Ints, offsets: Ints, begin: int, end: int) -> Iterator[Stretch]:
    for first in range(begin, end, _ORDERED_MAX):
        last = min(first + _ORDERED_MAX, end) - 1
        yield Stretch(int(indexes[first]), int(indexes[last]), int(offsets[first]), int(offsets[last]), is_ordered=True)
