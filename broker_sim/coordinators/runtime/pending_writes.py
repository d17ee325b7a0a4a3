"""Operations that wait until their records are committed. Mirrors DeferredEventQueue and its deadlines."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.python.failure import Failure

    from broker_sim.replication.purgatory import ExpirationQueue

__all__ = ["PendingWrite", "PendingWrites"]

_TIMED_OUT: Final = ErrorCode.REQUEST_TIMED_OUT


class PendingWrite:
    """One write operation, which completes once: with its response or with an error.

    Most operations complete within the call that makes them: `then` needs no Deferred for those.
    """

    __slots__ = ("_deferred", "completed", "error", "on_committed", "response", "timeout_ms")

    def __init__(self, timeout_ms: int = 0) -> None:
        self.timeout_ms = timeout_ms
        self._deferred: Deferred[Any] | None = None
        self.error: CoordinatorError | None = None
        self.response: Any = None
        self.on_committed: Callable[[CoordinatorError | None], None] | None = None
        self.completed = False

    def complete(self, error: CoordinatorError | None = None) -> None:
        """Finish the change of state, then complete with the response or an error; a second call does nothing."""
        if self.completed:
            return
        self.completed = True
        on_committed, self.on_committed = self.on_committed, None
        if on_committed is not None:
            on_committed(error)
        self.error = error
        if self._deferred is not None:
            self._fire(self._deferred)

    def _fire(self, deferred: Deferred[Any]) -> None:
        if self.error is None:
            deferred.callback(self.response)
        else:
            deferred.errback(self.error)

    @property
    def deferred(self) -> Deferred[Any]:
        """Fires with the response, or fails with the CoordinatorError."""
        if self._deferred is None:
            self._deferred = Deferred()
            if self.completed:
                self._fire(self._deferred)
        return self._deferred

    def then(self, respond: Callable[[Any], Any], refuse: Callable[[CoordinatorError], Any]) -> Any:
        """Return what `respond` makes of the response or `refuse` of the error; a Deferred of it if it is not there."""
        if not self.completed:
            return self.deferred.addCallbacks(respond, lambda failure: refuse(failure.value))
        return respond(self.response) if self.error is None else refuse(self.error)

    def on_error(self, refuse: Callable[[CoordinatorError], object]) -> None:
        """Call `refuse` with the error if the operation fails, now or later."""

        def failed(failure: Failure) -> None:
            assert isinstance(failure.value, CoordinatorError)
            refuse(failure.value)

        if not self.completed:
            self.deferred.addErrback(failed)
        elif self.error is not None:
            refuse(self.error)

    def expire(self) -> None:
        """The write time-out has passed: the operation fails, although its records stay in the log."""
        self.complete(CoordinatorError(_TIMED_OUT))


class PendingWrites:
    """The writes of one shard, in the order of their offsets."""

    def __init__(self, expirations: ExpirationQueue) -> None:
        self._expirations = expirations
        self._waiting: deque[tuple[int, PendingWrite]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, offset: int, write: PendingWrite) -> None:
        """Complete `write` when the high watermark reaches `offset`."""
        self._waiting.append((offset, write))
        self._expirations.add(write, write.timeout_ms)

    def complete_up_to(self, offset: int) -> None:
        """Complete the writes whose records are committed."""
        while self._waiting and self._waiting[0][0] <= offset:
            self._waiting.popleft()[1].complete()

    def fail_all(self, error: CoordinatorError) -> None:
        """Fail every waiting write."""
        waiting, self._waiting = self._waiting, deque()
        for _, write in waiting:
            write.complete(error)
