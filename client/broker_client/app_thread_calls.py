"""Calls into a reactor's thread during which the reactor's code may call functions on the calling thread.

Rebalance listeners and commit callbacks run on the thread that called `poll`, as in Java, and may call the consumer.
"""

from __future__ import annotations

from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import current_thread, get_ident
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from broker_client.consumer_errors import ConcurrentAccess
from broker_client.errors import IllegalState
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.interruptible_waits import wait_in_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from broker_client.core.metrics.event_metrics import EventMetrics
    from sim_runtime.reactor_thread import ReactorThread

__all__ = ["AppThreadCalls"]

T = TypeVar("T")

_RESULT: Final = object()
"""The first item of a message that ends a call."""

_Inbox = SimpleQueue[tuple[object, Any, Any]]


class AppThreadCalls:
    """One thread at a time may call; `run_callback` is for the reactor's thread."""

    def __init__(self, thread: ReactorThread) -> None:
        self._thread = thread
        self._inboxes: list[_Inbox] = []
        self._owner: int | None = None
        self.metrics: EventMetrics | None = None

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object, timeout_s: float) -> T:
        """Run a coroutine function on the reactor and wait, `timeout_s` after each callback.

        Raises:
            ConcurrentAccess: another thread is in a call.
            DeadlineExceeded: neither a result nor a callback came in time.
        """
        outer = self._acquire()
        try:
            return self._call(function, args, timeout_s)
        finally:
            self._owner = outer

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Keep other threads out, also between calls into the reactor's thread. Mirrors KafkaConsumer.acquire.

        Raises:
            ConcurrentAccess: another thread is in a call.
        """
        outer = self._acquire()
        try:
            yield
        finally:
            self._owner = outer

    async def run_callback(self, function: Callable[..., object], *args: object) -> Any:
        """Call a function on the thread of the innermost call and wait for it; raises what it raises."""
        if not self._inboxes:
            raise IllegalState("no call of the application waits that could run the callback")
        done: Deferred[Any] = Deferred()
        put_ms = 0 if self.metrics is None else self.metrics.background.put()
        self._inboxes[-1].put((None, (function, args, put_ms), done))
        return await done

    # Details

    def _acquire(self) -> int | None:
        """Make the caller the owner; return the owner before, which is to be set again."""
        outer, caller = self._owner, get_ident()
        if outer is not None and outer != caller:
            raise ConcurrentAccess(f"{current_thread().name} ({caller})", outer)
        self._owner = caller
        return outer

    def _call(self, function: Callable[..., Coroutine[Any, Any, T]], args: tuple[object, ...], timeout_s: float) -> T:
        inbox: _Inbox = SimpleQueue()
        running: list[Deferred[T]] = []
        put_ms = 0 if self.metrics is None else self.metrics.application.put()
        self._thread.reactor.callFromThread(self._begin, inbox, running, function, args, put_ms)
        result: Any = None
        try:
            while True:
                kind, result, deferred = self._next(inbox, timeout_s)
                if kind is _RESULT:
                    break
                self._run(result, deferred)
        except BaseException:
            self._thread.reactor.callFromThread(_cancel, running)
            raise
        if isinstance(result, Failure):
            result.raiseException()
        return result  # type: ignore[no-any-return]

    def _begin(
        self,
        inbox: _Inbox,
        running: list[Deferred[Any]],
        function: Callable[..., Coroutine[Any, Any, Any]],
        args: tuple[object, ...],
        put_ms: int,
    ) -> None:
        queue = None if self.metrics is None else self.metrics.application
        taken_ms = 0 if queue is None else queue.taken(put_ms)
        self._inboxes.append(inbox)
        deferred = Deferred.fromCoroutine(function(*args))
        if queue is not None:
            queue.processed(taken_ms)
        running.append(deferred)

        def end(result: object) -> None:
            self._inboxes.remove(inbox)
            inbox.put((_RESULT, result, None))

        deferred.addBoth(end)

    def _run(self, call: tuple[Callable[..., object], tuple[object, ...], int], done: Deferred[Any]) -> None:
        function, args, put_ms = call
        queue = None if self.metrics is None else self.metrics.background
        taken_ms = 0 if queue is None else queue.taken(put_ms)
        try:
            result = function(*args)
        except Exception:  # noqa: BLE001 - it is raised where the callback is awaited
            self._thread.reactor.callFromThread(done.errback, Failure())
        else:
            self._thread.reactor.callFromThread(done.callback, result)
        if queue is not None:
            queue.processed(taken_ms)

    def _next(self, inbox: _Inbox, timeout_s: float) -> tuple[object, Any, Any]:
        found: list[tuple[object, Any, Any]] = []

        def wait(slice_s: float) -> bool:
            try:
                found.append(inbox.get(timeout=slice_s))
            except Empty:
                return False
            return True

        if not wait_in_slices(wait, timeout_s):
            if self.metrics is not None:
                self.metrics.expired()
            awaited = f"a call on reactor thread {self._thread.name!r}"
            raise DeadlineExceeded(awaited, timeout_s * 1000, "call(timeout_s=...)")
        return found[0]


def _cancel(running: list[Deferred[Any]]) -> None:
    for deferred in running:
        deferred.cancel()
