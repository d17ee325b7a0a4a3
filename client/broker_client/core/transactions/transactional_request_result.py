"""The end of a transactional call, which its caller awaits. Mirrors TransactionalRequestResult.

It may be completed on any thread; waiters continue on the reactor's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_client.transaction_errors import TransactionTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.errors import ProducerError
    from sim_runtime.interfaces import IReactor

__all__ = ["TransactionalRequestResult"]


class TransactionalRequestResult:
    """`is_acked`: the end was reported to the caller, and the next call may be made."""

    __slots__ = ("_call_from_thread", "_waiters", "completed", "error", "is_acked", "operation")

    def __init__(self, operation: str, call_from_thread: Callable[[Callable[[], None]], object]) -> None:
        self.operation = operation
        self.completed = False
        self.is_acked = False
        self.error: ProducerError | None = None
        self._waiters: list[Deferred[None]] = []
        self._call_from_thread = call_from_thread

    def done(self) -> None:
        """It succeeded."""
        self._complete()

    def fail(self, error: ProducerError) -> None:
        """Fail it; as in Kafka the last error counts until it is reported."""
        self.error = error
        self._complete()

    async def wait(self, reactor: IReactor, timeout_ms: int) -> None:
        """Await the end, at most max.block.ms; raises its error, or TransactionTimeout. On the reactor's thread."""
        if not self.completed:
            ended: Deferred[None] = Deferred()
            self._waiters.append(ended)
            timer = reactor.callLater(timeout_ms / 1000, self._give_up, ended)
            try:
                await ended
            finally:
                if timer.active():
                    timer.cancel()
        if not self.completed:
            raise TransactionTimeout(f"{self.operation} is not done after {timeout_ms} ms", "max.block.ms")
        self.is_acked = True
        if self.error is not None:
            raise self.error

    def _complete(self) -> None:
        self.completed = True
        self._call_from_thread(self._fire)

    def _give_up(self, waiter: Deferred[None]) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
            waiter.callback(None)

    def _fire(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.callback(None)
