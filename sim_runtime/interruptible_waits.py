"""Waits of a thread, a second at a time, so that Ctrl-C ends them.

A signal that arrives just before a thread blocks on a lock does not wake it: CPython checks for signals first and then
blocks. A long wait would ignore the signal; a wait in slices handles it with the next slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["wait_in_slices"]

SLICE_S: Final = 1.0


def wait_in_slices(wait: Callable[[float], bool], timeout_s: float | None) -> bool:
    """Call `wait` with slices of `timeout_s` (None: no limit) until it returns True."""
    left_s = timeout_s
    while left_s is None or left_s > SLICE_S:
        if wait(SLICE_S):
            return True
        if left_s is not None:
            left_s -= SLICE_S
    return wait(max(left_s, 0.0))
