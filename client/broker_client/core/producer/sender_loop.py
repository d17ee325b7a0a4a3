"""Runs a Sender's turns on a reactor: when time is due, when the network has something, when callers wake it.

As Sender.run.
Wake-ups are merged: however many records are appended before the next turn, the reactor is woken once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.logger import Logger

from broker_client.core.network.repeated_errors import RepeatedErrors

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall, IReactorTime

__all__ = ["SenderLoop", "TurnTaker", "now_ms_of"]

NEVER_MS: Final = 1 << 62
# A turn that asks for another at once gets it without a detour, but the reactor gets its turn too.
TURNS_IN_A_ROW_MAX: Final = 8
_log = Logger()


class TurnTaker(Protocol):
    """What is run: a Sender, or a bare network client's owner."""

    def run_once(self, now_ms: int) -> int:
        """One turn; answers how many milliseconds from now the next is due, 0 for at once."""
        ...


def now_ms_of(reactor: IReactorTime) -> int:
    """The reactor's time in whole milliseconds since the epoch, safe from the last bit of a float."""
    return int(reactor.seconds() * 1000.0 + 0.0005)


class SenderLoop:
    """`call_from_thread` runs a function on the reactor from any thread; on one thread alone, callLater does."""

    __slots__ = (
        "_call_from_thread",
        "_errors",
        "_in_turn",
        "_next_turn",
        "_reactor",
        "_stopped",
        "_taker",
        "_woken",
        "after_turn",
    )

    def __init__(
        self,
        *,
        taker: TurnTaker,
        reactor: IReactorTime,
        call_from_thread: Callable[[Callable[[], None]], object],
    ) -> None:
        self._errors = RepeatedErrors(_log, "network loop")
        self.after_turn: Callable[[], None] | None = None
        self._taker = taker
        self._reactor = reactor
        self._call_from_thread = call_from_thread
        self._next_turn: IDelayedCall | None = None
        self._woken = False
        self._in_turn = False
        self._stopped = False

    def wakeup(self) -> None:
        """Take a turn soon; from any thread."""
        if not self._woken:
            self._woken = True
            self._call_from_thread(self._turn)

    def on_event(self) -> None:
        """Take a turn soon; from the reactor's thread: the network has something."""
        if not self._in_turn and not self._woken:
            self._woken = True
            self._reactor.callLater(0, self._turn)
        elif self._in_turn:
            self._woken = True

    @property
    def errors(self) -> int:
        """How many iterations have ended with an error."""
        return self._errors.total

    def stop(self) -> None:
        """Take no more turns."""
        self._stopped = True
        self._errors.close()
        self._cancel_next_turn()

    def _turn(self) -> None:
        if self._stopped or self._in_turn:
            return
        self._in_turn = True
        try:
            delay_ms = self._take_turns()
        finally:
            self._in_turn = False
        self._plan_next_turn(delay_ms)

    def _plan_next_turn(self, delay_ms: int) -> None:
        if self._stopped:
            return
        if self._woken or delay_ms <= 0:
            self._woken = True
            self._cancel_next_turn()
            self._reactor.callLater(0, self._turn)
        elif delay_ms >= NEVER_MS:
            self._cancel_next_turn()
        elif self._next_turn is None:
            self._next_turn = self._reactor.callLater(delay_ms / 1000, self._due)
        else:
            self._next_turn.reset(delay_ms / 1000)  # mostly to later, which costs next to nothing

    def _take_turns(self) -> int:
        delay_ms = 0
        for _ in range(TURNS_IN_A_ROW_MAX):
            self._woken = False
            delay_ms = self._take_turn()
            if self._stopped or (delay_ms > 0 and not self._woken):
                break
        return delay_ms

    def _take_turn(self) -> int:
        try:
            delay_ms = self._taker.run_once(now_ms_of(self._reactor))
        except Exception as error:  # noqa: BLE001 - as in Kafka's loop: logged, and the next iteration goes on
            self._errors.caught(error)
            delay_ms = 1
        if self.after_turn is not None:
            self.after_turn()
        return delay_ms

    def _due(self) -> None:
        self._next_turn = None
        self._turn()

    def _cancel_next_turn(self) -> None:
        call, self._next_turn = self._next_turn, None
        if call is not None:
            call.cancel()
