"""Keeps Ctrl-C out of what must not be broken off in the middle, and raises it right after.

A signal's handler runs in the main thread, between any two steps of whatever that does, and may raise there.
"""

from __future__ import annotations

import signal

# The public functions turn every handler into an enum's member, which takes twenty times as long.
from _signal import getsignal  # type: ignore[import-not-found]
from _signal import signal as set_handler
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["InterruptGuard"]

# Those which programs handle; nobody can handle the last two.
_OTHERS: Final = tuple(
    int(number)
    for number in sorted(signal.valid_signals())
    if number < signal.SIGRTMIN and number not in {signal.SIGINT, signal.SIGKILL, signal.SIGSTOP}
)
_SIGINT: Final = int(signal.SIGINT)


class InterruptGuard:
    """`take` it, and `give_back` in any case. Threads other than the main one are never interrupted."""

    __slots__ = ("_interrupted", "_lets_through", "_main_thread")

    def __init__(self) -> None:
        self._interrupted = False
        self._lets_through = False
        self._main_thread = main_thread().ident

    def take(self) -> bool:
        """Put interruptions off from now on; False: the program has handlers of its own, and anything might come."""
        if get_ident() != self._main_thread:
            return True
        if getsignal(_SIGINT) is not signal.default_int_handler or any(map(callable, map(getsignal, _OTHERS))):
            return False
        self._interrupted = self._lets_through = False
        set_handler(_SIGINT, self._interrupt)
        return True

    def let_through(self, lets: bool) -> None:  # noqa: FBT001
        """Whether to raise at once for the time being: while nothing is in the middle of anything."""
        if get_ident() == self._main_thread:
            self._lets_through = lets

    def give_back(self) -> None:
        """Raise KeyboardInterrupt if one was put off."""
        if get_ident() != self._main_thread:
            return
        set_handler(_SIGINT, signal.default_int_handler)
        if self._interrupted:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._lets_through:
            signal.default_int_handler(number, frame)
        self._interrupted = True
