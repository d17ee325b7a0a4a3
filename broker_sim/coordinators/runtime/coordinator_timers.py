"""The timers of one shard, by key. Mirrors CoordinatorTimer.

Most timers are sessions that a heartbeat extends: an extension only moves the deadline, and the reactor's call looks at
it when it fires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from sim_runtime.interfaces import IReactor

__all__ = ["RETRY_BACKOFF_MS", "CoordinatorTimers"]

RETRY_BACKOFF_MS: Final = 500
_SLACK_S: Final = 5e-7
"""Half of the reactor's microsecond: a deadline that was added up as a float may lie that far behind its call."""


class _Fired(Protocol):
    def __call__(self, key: str, operation: Callable[[], CoordinatorResult[Any]], *, retry: bool) -> None: ...


class _Timer:
    __slots__ = ("call", "deadline_s", "operation", "retry")

    def __init__(self, deadline_s: float, operation: Callable[[], CoordinatorResult[Any]], *, retry: bool) -> None:
        self.deadline_s = deadline_s
        self.operation = operation
        self.retry = retry
        self.call: IDelayedCall | None = None


class CoordinatorTimers:
    """One operation per key; scheduling a key again replaces its operation and deadline."""

    def __init__(self, reactor: IReactor, fired: _Fired) -> None:
        self._reactor = reactor
        self._fired = fired
        self._timers: dict[str, _Timer] = {}
        self._firing = False

    def schedule(
        self, key: str, delay_ms: float, operation: Callable[[], CoordinatorResult[Any]], *, retry: bool = True
    ) -> None:
        """Write `operation` in `delay_ms`; with `retry` a failed write is repeated after 500 ms.

        Without a delay it follows the present operation, before any later request, as Kafka's timer submits it at once.
        """
        if delay_ms <= 0 and not self._firing:
            self._fire_at_once(key, operation, retry=retry)
            return
        deadline_s = self._reactor.seconds() + max(delay_ms, 0) / 1000
        known = self._timers.get(key)
        if known is not None and known.call is not None and known.deadline_s <= deadline_s:
            known.deadline_s, known.operation, known.retry = deadline_s, operation, retry
            return
        self.cancel(key)
        timer = self._timers[key] = _Timer(deadline_s, operation, retry=retry)
        timer.call = self._reactor.callLater(max(delay_ms, 0) / 1000, self._due, key, timer)

    def _fire_at_once(self, key: str, operation: Callable[[], CoordinatorResult[Any]], *, retry: bool) -> None:
        self.cancel(key)
        timer = self._timers[key] = _Timer(self._reactor.seconds(), operation, retry=retry)

        def unless_replaced() -> CoordinatorResult[Any]:
            if self._timers.get(key) is not timer:
                return CoordinatorResult((), None)
            del self._timers[key]
            self._firing = True  # what it schedules without a delay waits for the reactor, so that time goes on
            try:
                return operation()
            finally:
                self._firing = False

        self._fired(key, unless_replaced, retry=retry)

    def schedule_if_absent(
        self, key: str, delay_ms: float, operation: Callable[[], CoordinatorResult[Any]], *, retry: bool = True
    ) -> None:
        """Schedule unless the key is scheduled."""
        if key not in self._timers:
            self.schedule(key, delay_ms, operation, retry=retry)

    def cancel(self, key: str) -> None:
        """Forget a key; does nothing if it is not scheduled."""
        timer = self._timers.pop(key, None)
        if timer is not None and timer.call is not None:
            timer.call.cancel()
            timer.call = None

    def cancel_all(self) -> None:
        """Forget all keys."""
        for key in list(self._timers):
            self.cancel(key)

    def is_scheduled(self, key: str) -> bool:
        """Return True if the key waits for its deadline."""
        return key in self._timers

    @property
    def keys(self) -> list[str]:
        """The scheduled keys."""
        return list(self._timers)

    def _due(self, key: str, timer: _Timer) -> None:
        timer.call = None
        left_s = timer.deadline_s - self._reactor.seconds()
        if left_s > _SLACK_S:
            timer.call = self._reactor.callLater(left_s, self._due, key, timer)
            return
        del self._timers[key]
        self._fired(key, timer.operation, retry=timer.retry)
