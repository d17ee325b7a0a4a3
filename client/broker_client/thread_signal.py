"""The Signal of front ends with threads: it blocks the caller's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sim_runtime.interruptible_waits import Latch

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["ThreadSignal", "run_blocking"]

T = TypeVar("T")


class ThreadSignal:
    """Fires once, from any thread."""

    __slots__ = ("_latch", "fire")

    def __init__(self) -> None:
        self._latch = Latch()
        self.fire = self._latch.fire
        """Ends the wait; later calls do nothing."""

    async def wait(self, timeout_s: float) -> bool:
        """Block the thread; return True once it has fired, False after `timeout_s` seconds."""
        return self._latch.wait(timeout_s)


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose only waits are those of ThreadSignal; return its result.

    Raises:
        RuntimeError: the coroutine waits for something else.
    """
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    coroutine.close()
    raise RuntimeError("the coroutine was suspended: it waits for something else than a ThreadSignal")
