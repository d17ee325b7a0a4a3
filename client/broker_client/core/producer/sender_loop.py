"""Runs a Sender's iterations on a reactor: when one is due, after network events, after wake-ups. Mirrors Sender.run.

Wake-ups are merged: however many records are appended before the next iteration, the reactor is woken once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.logger import Logger

from broker_client.core.network.repeated_errors import RepeatedErrors

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall, IReactorTime

__all__ = ["Runnable", "SenderLoop", "now_ms_of"]

NEVER_MS: Final = 1 << 62
# An iteration that is due at once follows directly, but the reactor runs in between now and then.
ITERATIONS_IN_A_ROW_MAX: Final = 8
_log = Logger()


class Runnable(Protocol):
    """The object whose iterations are run: a Sender, or the owner of a network client."""

    def run_once(self, now_ms: int) -> int:
        """Run one loop iteration; return the milliseconds until the next is due, 0 for at once."""
        ...


def now_ms_of(reactor: IReactorTime) -> int:
    """The reactor's time in whole milliseconds since the epoch, safe from the last bit of a float."""
    return int(reactor.seconds() * 1000.0 + 0.0005)


class SenderLoop:
    """`call_from_thread` runs a function on the reactor from any thread; on one thread alone, callLater does."""

    __slots__ = (
        "_call_from_thread",
        "_errors",
        "_in_iteration",
        "_next_iteration",
        "_reactor",
        "_runnable",
        "_stopped",
        "_woken",
        "after_iteration",
    )

    def __init__(
        self,
        *,
        runnable: Runnable,
        reactor: IReactorTime,
        call_from_thread: Callable[[Callable[[], None]], object],
    ) -> None:
        self._errors = RepeatedErrors(_log, "network loop")
        self.after_iteration: Callable[[], None] | None = None
        self._runnable = runnable
        self._reactor = reactor
        self._call_from_thread = call_from_thread
        self._next_iteration: IDelayedCall | None = None
        self._woken = False
        self._in_iteration = False
        self._stopped = False

    def wakeup(self) -> None:
        """Run an iteration soon; from any thread."""
        if not self._woken:
            self._woken = True
            self._call_from_thread(self._iterate_if_woken)

    def run_now(self) -> None:
        """Run an iteration before returning, on the reactor's thread; within an iteration, run another one next."""
        if self._in_iteration:
            self._woken = True
        else:
            self._iterate()

    def on_event(self) -> None:
        """Run an iteration soon, because of a network event; from the reactor's thread."""
        if not self._in_iteration and not self._woken:
            self._woken = True
            self._reactor.callLater(0, self._iterate_if_woken)
        elif self._in_iteration:
            self._woken = True

    def run_within(self, delay_ms: int) -> None:
        """Run the next iteration after `delay_ms` at the latest; from the reactor's thread."""
        if self._stopped or self._in_iteration or self._woken:
            return  # the end of the next iteration plans the one after it
        planned = self._next_iteration
        if planned is None:
            self._next_iteration = self._reactor.callLater(delay_ms / 1000, self._due)
        elif planned.getTime() > self._reactor.seconds() + delay_ms / 1000:
            planned.reset(delay_ms / 1000)

    @property
    def errors(self) -> int:
        """How many iterations have ended with an error."""
        return self._errors.total

    def stop(self) -> None:
        """Run no more iterations."""
        self._stopped = True
        self._errors.close()
        self._cancel_next_iteration()

    def _iterate_if_woken(self) -> None:
        """Run the iteration that was requested, unless another one, as that of `run_now`, has run since."""
        if self._woken:
            self._iterate()

    def _iterate(self) -> None:
        if self._stopped or self._in_iteration:
            return
        self._in_iteration = True
        try:
            delay_ms = self._run_iterations()
        finally:
            self._in_iteration = False
        self._plan_next_iteration(delay_ms)

    def _plan_next_iteration(self, delay_ms: int) -> None:
        if self._stopped:
            return
        if self._woken or delay_ms <= 0:
            self._woken = True
            self._cancel_next_iteration()
            self._reactor.callLater(0, self._iterate_if_woken)
        elif delay_ms >= NEVER_MS:
            self._cancel_next_iteration()
        elif self._next_iteration is None:
            self._next_iteration = self._reactor.callLater(delay_ms / 1000, self._due)
        else:
            self._next_iteration.reset(delay_ms / 1000)  # mostly to later, which costs next to nothing

    def _run_iterations(self) -> int:
        delay_ms = 0
        for _ in range(ITERATIONS_IN_A_ROW_MAX):
            self._woken = False
            delay_ms = self._run_once()
            if self._stopped or (delay_ms > 0 and not self._woken):
                break
        return delay_ms

    def _run_once(self) -> int:
        try:
            delay_ms = self._runnable.run_once(now_ms_of(self._reactor))
        except Exception as error:  # noqa: BLE001 - as in Kafka's loop: logged, and the next iteration goes on
            self._errors.caught(error)
            delay_ms = 1
        if self.after_iteration is not None:
            self.after_iteration()
        return delay_ms

    def _due(self) -> None:
        self._next_iteration = None
        self._iterate()

    def _cancel_next_iteration(self) -> None:
        call, self._next_iteration = self._next_iteration, None
        if call is not None:
            call.cancel()
