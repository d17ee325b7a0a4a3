"""Waits of a thread, a second at a time, so that Ctrl-C ends them.

A signal that comes just before a thread goes to sleep on a lock does not wake it: CPython looks for signals first and
sleeps then. A wait of hours would be deaf to it, where one of many slices hears it with the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["wait_in_slices"]

SLICE_S: Final = 1.0


def wait_in_slices(wait: Callable[[float], bool], timeout_s: float | None) -> bool:
    """Call `wait` with parts of `timeout_s` (None: without end) until it answers that what it waits for has come."""
    left_s = timeout_s
    while left_s is None or left_s > SLICE_S:
        if wait(SLICE_S):
            return True
        if left_s is not None:
            left_s -= SLICE_S
    return wait(max(left_s, 0.0))
