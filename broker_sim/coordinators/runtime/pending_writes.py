"""Operations that wait until their records are committed. Mirrors DeferredEventQueue and its deadlines."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.purgatory import ExpirationQueue

__all__ = ["PendingWrite", "PendingWrites"]

_TIMED_OUT: Final = ErrorCode.REQUEST_TIMED_OUT


class PendingWrite:
    """One write operation: the Deferred of its response, which fires once."""

    __slots__ = ("completed", "deferred", "on_committed", "response", "timeout_ms")

    def __init__(self) -> None:
        self.deferred: Deferred[Any] = Deferred()
        self.response: Any = None
        self.on_committed: Callable[[CoordinatorError | None], None] | None = None
        self.completed = False
        self.timeout_ms = 0

    def complete(self, error: CoordinatorError | None = None) -> None:
        """Finish the change of state, then fire with the response or with an error; a second call does nothing."""
        if self.completed:
            return
        self.completed = True
        on_committed, self.on_committed = self.on_committed, None
        if on_committed is not None:
            on_committed(error)
        if error is None:
            self.deferred.callback(self.response)
        else:
            self.deferred.errback(error)

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
