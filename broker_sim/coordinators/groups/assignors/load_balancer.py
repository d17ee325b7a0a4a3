"""The members that should get the next partition, or give one away. Mirrors MemberAssignmentBalancer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LoadBalancer"]


class LoadBalancer:
    """Iterates over the subscribers of one topic from both ends of their loads.

    `loads` is the number of partitions per member index; its owner changes it after each step. The least loaded
    members are those at the start of the order up to `_least_end`, the most loaded ones those from `_most_start` to
    `_most_end`; members behind that have nothing to give.
    """

    def __init__(self, loads: Sequence[int], members: Sequence[int]) -> None:
        self._loads = loads
        self._order = sorted(members, key=lambda index: (loads[index], index))
        lowest, highest = loads[self._order[0]], loads[self._order[-1]]
        self.imbalance = highest - lowest
        """The difference of loads at the start."""
        self._least_end = 0
        self._least_load = lowest - 1
        self._next_least = 0
        self._most_start = self._most_end = len(self._order)
        self._most_load = highest + 1
        self._next_most = len(self._order) - 1

    def next_least_loaded(self) -> int:
        """Return the member that gets the next partition; the caller adds one to its load."""
        if self._next_least >= self._least_end:
            self._least_load += 1
            while self._least_end < len(self._order) and self._load_at(self._least_end) == self._least_load:
                self._least_end += 1
            self._next_least = 0
        member = self._order[self._next_least]
        self._next_least += 1
        return member

    def next_most_loaded(self) -> int | None:
        """Return the member that gives the next partition away, None if none is left."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_load = self._load_at(self._most_start - 1)
            else:
                self._most_load -= 1
            while self._most_start > 0 and self._load_at(self._most_start - 1) == self._most_load:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        member = self._order[self._next_most]
        self._next_most -= 1
        return member

    def exclude_most_loaded(self) -> None:
        """Leave out the member that was just returned: it has no partition of the topic."""
        last, excluded = self._most_end - 1, self._next_most + 1
        self._order[excluded], self._order[last] = self._order[last], self._order[excluded]
        self._most_end -= 1

    def is_balanced(self) -> bool:
        """Return True if loads differ by at most one."""
        return self._most_load - self._least_load <= 1

    def _load_at(self, place: int) -> int:
        return self._loads[self._order[place]]
