"""The log of a partition as its clients saw it (the version order of Jepsen's Kafka checker).

`log[offset]` is the set of values at the offset, from the acknowledgements of committed sends and from every poll of
any outcome: consumers are to return committed records even if their own transaction aborts. Offsets that no client saw
are left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.operations import Value

__all__ = ["ObservedLog"]


class ObservedLog:
    """Values by offset and offsets by value."""

    def __init__(self, observations: Iterable[tuple[int, Value]]) -> None:
        self._at: dict[int, Value | dict[Value, None]] = {}
        self._doubled: dict[Value, dict[int, None]] = {}
        self._one: dict[Value, int] = {}
        for offset, value in observations:
            self._add(offset, value)
        self._several = {value: sorted(offsets) for value, offsets in self._doubled.items()}
        self._sorted = sorted(self._at)

    def _add(self, offset: int, value: Value) -> None:
        before = self._at.setdefault(offset, value)
        if isinstance(before, dict):
            before[value] = None
        elif before != value:
            self._at[offset] = {before: None, value: None}
        first = self._one.setdefault(value, offset)
        if first != offset:
            self._doubled.setdefault(value, {first: None})[offset] = None

    def offsets_of(self, value: Value) -> list[int]:
        """The ascending offsets of a value."""
        if value in self._several:
            return self._several[value]
        return [self._one[value]] if value in self._one else []

    def place_of(self, value: Value) -> int | None:
        """The offset of a value that has one place: one offset, and no other value there."""
        offset = self._one.get(value)
        if offset is None or value in self._several or isinstance(self._at[offset], dict):
            return None
        return offset

    def conflicts(self) -> list[tuple[int, tuple[Value, ...]]]:
        """The offsets at which several values were seen."""
        return [(offset, tuple(found)) for offset, found in sorted(self._at.items()) if isinstance(found, dict)]

    def values_in_several_places(self) -> dict[Value, list[int]]:
        """The values that were seen at several offsets, which ascend."""
        return self._several

    def between(self, first: int, last: int) -> list[Value]:
        """The values strictly between two offsets, as far as they have one place."""
        start, end = bisect_right(self._sorted, first), bisect_left(self._sorted, last)
        found = (self._at[offset] for offset in self._sorted[start:end])
        return [value for value in found if not isinstance(value, dict) and value not in self._several]

    def up_to(self, bound: int) -> list[Value]:
        """The values whose last offset is at most `bound`, by that offset."""
        last = {value: self._several[value][-1] if value in self._several else at for value, at in self._one.items()}
        return sorted((value for value, at in last.items() if at <= bound), key=lambda value: last[value])

    def neighbours(self) -> Iterator[tuple[Value, Value]]:
        """The values at neighbouring offsets, as far as both have one place."""
        before: Value | None = None
        for offset in self._sorted:
            found = self._at[offset]
            now = None if isinstance(found, dict) or found in self._several else found
            if before is not None and now is not None:
                yield before, now
            before = now
