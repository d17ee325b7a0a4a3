"""Removes pieces of a sequence while what is left keeps a property: a pass of delta debugging (Zeller, ddmin)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cut_pieces"]

S = TypeVar("S", bytes, list[str | int])


def cut_pieces(items: S, holds: Callable[[S], bool]) -> S:
    """Remove pieces of half the items, of a quarter ... of one, until no single item can be removed.

    `items` must have the property; a limit of trials lies in `holds`, which returns False from then on.
    """
    size = max(1, len(items) // 2)
    while True:
        shorter = _cut_size(items, size, holds)
        if size == 1 and shorter == items:
            return items
        items, size = shorter, max(1, size // 2)


def _cut_size(items: S, size: int, holds: Callable[[S], bool]) -> S:
    at = 0
    while at < len(items):
        shorter = items[:at] + items[at + size :]
        if holds(shorter):
            items = shorter
        else:
            at += size
    return items
