"""Waits of a thread, a second at a time, so that Ctrl-C ends them.

A signal that arrives just before a thread blocks on a lock does not wake it: CPython checks for signals first and then
blocks. A long wait would ignore the signal; a wait in slices handles it with the next slice.

An interruption within the wait of a threading.Event can release its lock twice: a RuntimeError hides it then.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Latch", "wait_in_slices"]

SLICE_S: Final = 1.0


class Latch:
    """Fires once, from any thread, and ends the wait of one thread. Its wait is that of a lock, without Python code."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def fire(self) -> None:
        """End the wait; later calls do nothing."""
        try:  # noqa: SIM105 - `suppress` takes a third of a wait's time
            self._lock.release()
        except RuntimeError:  # it has fired
            pass

    def wait(self, timeout_s: float | None) -> bool:
        """Return True once it has fired, False after `timeout_s` seconds (None: no limit)."""
        return wait_in_slices(self._wait, timeout_s)

    def _wait(self, seconds: float) -> bool:
        fired = self._lock.acquire(timeout=seconds)
        if fired:
            self.fire()  # for the next wait
        return fired


def wait_in_slices(wait: Callable[[float], bool], timeout_s: float | None) -> bool:
    """Call `wait` with slices of `timeout_s` (None: no limit) until it returns True."""
    left_s = timeout_s
    while left_s is None or left_s > SLICE_S:
        if wait(SLICE_S):
            return True
        if left_s is not None:
            left_s -= SLICE_S
    return wait(max(left_s, 0.0))
