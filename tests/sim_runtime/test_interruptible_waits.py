from __future__ import annotations

import dis
import sys
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.interruptible_waits import Latch, wait_in_slices

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

INTERRUPTIBLE = ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME")
"""The operations after which CPython runs the handlers of signals."""


def test_a_wait_ends_with_its_event() -> None:
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) == 3

    assert wait_in_slices(wait, None)
    assert waited == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("timeout_s", "slices"), [(0, [0]), (-1, [0]), (0.5, [0.5]), (1, [1]), (2.5, [1, 1, 0.5]), (3, [1, 1, 1])]
)
def test_it_takes_no_longer_than_it_may(timeout_s: float, slices: list[float]) -> None:
    waited: list[float] = []
    assert not wait_in_slices(lambda seconds: bool(waited.append(seconds)), timeout_s)  # type: ignore[func-returns-value]
    assert waited == slices


class Interruption:
    """A tracer that raises KeyboardInterrupt at the n-th place where a signal could."""

    def __init__(self, number: int) -> None:
        self.left = number
        self._before: dict[FrameType, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = self._before.get(frame)
            self._before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before in INTERRUPTIBLE:
                self.left -= 1
                if self.left < 0:
                    sys.settrace(None)
                    raise KeyboardInterrupt
        return self


def interrupted_at(number: int, call: Callable[[], object]) -> bool:
    """Call with an interruption at a place; return False if there are fewer places. Other errors are raised."""
    traced_before = sys.gettrace()
    interruption = Interruption(number)
    sys.settrace(interruption)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(traced_before)
    return interruption.left < 0


def test_a_latch_ends_the_waits_of_other_threads() -> None:
    latch = Latch()
    assert not latch.wait(0)
    thread = Thread(target=lambda: (latch.fire(), latch.fire()))
    thread.start()
    assert latch.wait(None)
    assert latch.wait(0)
    thread.join()


def test_an_interruption_of_a_wait_is_an_interruption_wherever_it_comes() -> None:
    for fired in (False, True):
        for place in count():
            latch = Latch()
            if fired:
                latch.fire()
            if not interrupted_at(place, lambda latch=latch: latch.wait(0.0)):  # type: ignore[misc]
                break
            latch.fire()
        assert place > 1
