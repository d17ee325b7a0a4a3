"""A real reactor in a thread of its own, for callers that live on other threads. As KafkaProducer's ioThread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, overload

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.errors import SimRuntimeError
from sim_runtime.interruptible_waits import Latch
from sim_runtime.real_reactor import new_reactor, release_reactor

if TYPE_CHECKING:
    from sim_runtime.real_reactor import RealReactor

__all__ = ["ReactorThread", "ReactorThreadError"]

T = TypeVar("T")

CALL_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 10.0


class ReactorThreadError(SimRuntimeError):
    """An invalid call of a reactor thread: it has stopped, or belongs to another process or thread."""


class ReactorThread:
    """Start a new reactor in a daemon thread, without signal handlers. `stop()` it, or use it in a `with`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reactor: RealReactor = new_reactor()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._pending: dict[Future[Any], None] = {}
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """True if calls are accepted, in this process."""
        return not self._stopped and os.getpid() == self._pid

    @property
    def is_here(self) -> bool:
        """True if the calling thread is the reactor's own: it cannot wait for the reactor."""
        return get_ident() == self._thread.ident

    @overload
    def call(self, function: Callable[..., Deferred[T]], *args: object, timeout_s: float = ...) -> T: ...

    @overload
    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object, timeout_s: float = ...) -> T: ...

    @overload
    def call(self, function: Callable[..., T], *args: object, timeout_s: float = ...) -> T: ...

    def call(self, function: Callable[..., Any], *args: object, timeout_s: float = CALL_TIMEOUT_S) -> Any:
        """Call `function` in the reactor's thread and wait for its result, also of a Deferred or a coroutine.

        Raises the error of the function, or DeadlineExceeded; a late Deferred is cancelled then.
        """
        self._refuse_here("call")
        future: Future[Any] = Future()
        ended = Latch()
        # Before the other thread has it: an interruption would leave its lock closed.
        future.add_done_callback(lambda _: ended.fire())
        waiting: list[Deferred[Any]] = []
        with self._lock:
            self._refuse_when_stopped()
            self._pending[future] = None
            self.reactor.callFromThread(self._begin, future, waiting, function, args)
        try:
            if ended.wait(timeout_s):
                return future.result(0)
            self.reactor.callFromThread(_cancel_all, waiting)
            name = getattr(function, "__qualname__", None) or repr(function)
            awaited = f"{name} on reactor thread {self.name!r}"
            raise DeadlineExceeded(awaited, timeout_s * 1000, "call(timeout_s=...)")
        finally:
            with self._lock:
                self._pending.pop(future, None)

    def make(self, function: Callable[[], T]) -> T:
        """Return what the reactor is started for, made in its thread; stop the reactor if that raises."""
        try:
            return self.call(function)
        except BaseException:
            self.stop()
            raise

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop the reactor and wait for its thread; waiting calls fail. A second stop does nothing."""
        self._refuse_here("stop")
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        self.reactor.callFromThread(self.reactor.stop)
        self._thread.join(timeout_s)
        self._fail_pending()
        if self._thread.is_alive():
            awaited = f"the end of reactor thread {self.name!r}"
            raise DeadlineExceeded(awaited, timeout_s * 1000, "stop(timeout_s=...)")
        release_reactor(self.reactor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<ReactorThread {self.name!r} {'running' if self.running else 'stopped'}>"

    def _run(self) -> None:
        self.reactor.run(installSignalHandlers=False)

    def _begin(
        self, future: Future[Any], waiting: list[Deferred[Any]], function: Callable[..., Any], args: tuple[object, ...]
    ) -> None:
        try:
            result = function(*args)
            if isinstance(result, Coroutine):
                result = Deferred.fromCoroutine(result)
        except Exception as error:  # noqa: BLE001 - it is raised in the caller's thread
            _settle(future, Failure(error))
            return
        if isinstance(result, Deferred):
            waiting.append(result)
            result.addBoth(lambda outcome: _settle(future, outcome))
        else:
            _settle(future, result)

    def _fail_pending(self) -> None:
        with self._lock:
            pending = list(self._pending)
        for future in pending:
            _settle(future, Failure(ReactorThreadError(f"reactor thread {self.name!r} was stopped during this call")))

    def _refuse_when_stopped(self) -> None:
        if self._stopped:
            raise ReactorThreadError(f"reactor thread {self.name!r} is stopped")

    def _refuse_here(self, method: str) -> None:
        # Before any lock is acquired: a fork may have copied it locked.
        if os.getpid() != self._pid:
            raise ReactorThreadError(
                f"reactor thread {self.name!r} was started in process {self._pid} and did not survive the fork into "
                f"process {os.getpid()}: start a new one there"
            )
        if self.is_here:
            raise ReactorThreadError(
                f"{method}() of reactor thread {self.name!r} would wait for itself: it is for other threads"
            )


def _settle(future: Future[Any], result: object) -> None:
    if future.done():
        return
    if isinstance(result, Failure):
        future.set_exception(result.value)
    else:
        future.set_result(result)


def _cancel_all(waiting: list[Deferred[Any]]) -> None:
    for deferred in waiting:
        deferred.cancel()
