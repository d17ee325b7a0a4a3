"""Threads on virtual time: an unmodified program of threads runs on one host of a simulated network.

A thread is a greenlet. One of them runs at a time, until it waits: for a lock, an event, a time, a socket. Then the
virtual reactor goes on, and a call of it resumes the thread. So threads take turns in the order of the world's calls
alone, and between two of its steps a thread is interrupted only if it makes thousands of calls there. Resuming takes
time, as on a real machine: a program that polls without a pause would otherwise spin in one instant.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakSet

from greenlet import GreenletExit, getcurrent, greenlet

from sim_runtime.virtual_event_loop import NotOnVirtualTime
from sim_runtime.virtual_reactor import CallLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from sim_runtime.interfaces import IReactor

__all__ = ["VirtualLock", "VirtualRLock", "VirtualThreads"]

RESUME_S: Final = 1e-6
"""What it takes to resume a thread."""
CALL_S: Final = 1e-6
"""What it takes to read a clock, or to call a socket or lock without a wait: time passes in slices of such calls."""
CALLS_PER_SLICE: Final = 10_000
BUSY_CALLS_LIMIT: Final = 10_000_000
"""The calls of a thread that never waits, before the run ends with an error."""
ENDS_MAX: Final = 100
"""How often a thread of a program that was killed may catch its end; then it is left where it waits."""


class _Program(NamedTuple):
    """The reactor of a program, and the handler of errors that leave its threads."""

    reactor: IReactor
    on_error: Callable[[threading.Thread, Exception], None]


class _Running:
    """A thread that has started and not ended."""

    def __init__(self, thread: threading.Thread, program: _Program) -> None:
        self.thread = thread
        self.program = program
        self.body: greenlet
        self.resumption: IDelayedCall | None = None
        self.is_waiting = False
        self.is_discarded = False
        self.ends_left = ENDS_MAX
        self.busy_calls = 0
        self.joining: dict[_Running, None] = {}


class VirtualThreads:
    """The threads of the programs of a world.

    A thread that a thread starts belongs to the same program, which is its reactor's: when that crashes or is paused,
    no thread of it goes on.
    """

    def __init__(self) -> None:
        self._running: dict[threading.Thread, _Running] = {}
        self._ended = WeakSet[threading.Thread]()
        self._of_body: dict[greenlet, _Running] = {}
        self._calls_in_slice = 0
        self.busy_calls_limit = BUSY_CALLS_LIMIT

    # Threads

    def start_program(
        self,
        reactor: IReactor,
        run: Callable[[], object],
        *,
        name: str = "main",
        on_error: Callable[[threading.Thread, Exception], None],
    ) -> threading.Thread:
        """Start the first thread of a program; it runs from the next call of the reactor on.

        `on_error` receives an exception that leaves a thread of the program.
        """
        thread = threading.Thread(target=run, name=name, daemon=True)
        self._start(thread, _Program(reactor, on_error))
        return thread

    def start(self, thread: threading.Thread) -> None:
        """Start a thread of the program that runs now."""
        if self.has(thread):
            raise RuntimeError("threads can only be started once")
        self._start(thread, self._current(f"the start of {thread.name}").program)

    def has(self, thread: threading.Thread) -> bool:
        """True from the start of a thread on."""
        return thread in self._running or thread in self._ended

    def is_alive(self, thread: threading.Thread) -> bool:
        """True from the start of a thread to its end."""
        return thread in self._running

    def join(self, thread: threading.Thread, timeout: float | None = None) -> None:
        """Wait until a thread has ended, at most `timeout` seconds."""
        running = self._running.get(thread)
        if running is None:
            return
        current = self._current(f"joining {thread.name}")
        if running is current:
            raise RuntimeError("cannot join current thread")
        running.joining[current] = None
        self.wait(timeout)
        running.joining.pop(current, None)

    def current_thread(self) -> threading.Thread | None:
        """The thread that runs now; None outside of programs."""
        running = self._of_body.get(getcurrent())
        return None if running is None else running.thread

    def discard(self, reactor: IReactor) -> None:
        """End the threads of a program that was killed, or whose world has ended."""
        for running in [each for each in self._running.values() if each.program.reactor is reactor]:
            running.is_discarded = True
            if running.resumption is not None and running.resumption.active():
                running.resumption.cancel()
            running.ends_left -= 1
            running.body.throw(GreenletExit)
            self._forget(running)

    def _start(self, thread: threading.Thread, program: _Program) -> None:
        running = _Running(thread, program)
        running.body = greenlet(lambda _: self._run(running))
        running.is_waiting = True
        self._running[thread] = running
        self._of_body[running.body] = running
        self._schedule(running, RESUME_S, woken=True)

    def _run(self, running: _Running) -> None:
        try:
            running.thread.run()
        except SystemExit:
            pass
        except Exception as error:  # noqa: BLE001 - the program's own
            running.program.on_error(running.thread, error)
        finally:
            self._forget(running)

    def _forget(self, running: _Running) -> None:
        if self._running.pop(running.thread, None) is not None:
            self._ended.add(running.thread)
        self._of_body.pop(running.body, None)
        for other in list(running.joining):
            self.wake(other)

    # Waiting

    def current(self) -> _Running:
        """The thread that is about to wait, for `wake`.

        Raises:
            NotOnVirtualTime: no thread of a program runs.
        """
        return self._current("waiting")

    def waker(self) -> Callable[[], None]:
        """Return a function that lets the thread that runs now go on, when it waits."""
        running = self.current()
        return lambda: self.wake(running)

    def reactor(self) -> IReactor:
        """The reactor of the program that runs now."""
        return self.current().program.reactor

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until `wake`, or until the time is over; returns whether it was woken."""
        running = self._current("waiting")
        running.busy_calls = 0
        return self._wait(running, timeout_s)

    def _wait(self, running: _Running, timeout_s: float | None) -> bool:
        if running.is_discarded and running.ends_left:
            running.ends_left -= 1
            raise GreenletExit
        running.is_waiting = True
        if timeout_s is not None:
            self._schedule(running, max(timeout_s, RESUME_S), woken=False)
        world = running.body.parent
        assert world is not None, "a call of the reactor has resumed it"
        return bool(world.switch())

    def wake(self, running: _Running) -> None:
        """Let a thread that waits go on, after those that were woken before."""
        if running.is_waiting and not running.is_discarded:
            running.is_waiting = False
            if running.resumption is not None and running.resumption.active():
                running.resumption.cancel()
            self._schedule(running, RESUME_S, woken=True)

    def sleep(self, seconds: float) -> None:
        """Let the time pass for the thread that runs."""
        self.wait(max(seconds, 0.0))

    def count_call(self, name: str) -> None:
        """Count a call that does not wait. Time passes for a thread that makes many, and too many end the run.

        Raises:
            CallLimitExceeded: in the run method of the reactor, and not in the thread, which may catch it.
        """
        self._calls_in_slice += 1
        if self._calls_in_slice >= CALLS_PER_SLICE:
            self._end_slice(name)

    def counted(self, name: str, call: Callable[[], object]) -> Callable[[], object]:
        """Return `call`, counted as `count_call` does."""
        count = self.count_call

        def counted_call() -> object:
            count(name)
            return call()

        return counted_call

    def _end_slice(self, name: str) -> None:
        calls, self._calls_in_slice = self._calls_in_slice, 0
        running = self._of_body.get(getcurrent())
        if running is None:
            return
        running.busy_calls += calls
        if running.busy_calls >= self.busy_calls_limit and not running.is_discarded:
            last = f"{name} of thread {running.thread.name}, which never waits"
            world = running.body.parent
            assert world is not None, "a call of the reactor has resumed it"
            world.throw(CallLimitExceeded(running.busy_calls, "busy_calls_limit", last))
        self._wait(running, calls * CALL_S)

    def _schedule(self, running: _Running, delay_s: float, *, woken: bool) -> None:
        running.resumption = running.program.reactor.callLater(delay_s, self._resume, running, woken)

    def _resume(self, running: _Running, woken: bool) -> None:  # noqa: FBT001 - an argument of callLater
        self._calls_in_slice = 0
        running.is_waiting = False
        running.resumption = None
        running.body.parent = getcurrent()
        running.body.switch(woken)

    def _current(self, what: str) -> _Running:
        running = self._of_body.get(getcurrent())
        if running is None:
            raise NotOnVirtualTime(f"{what} outside of a virtual thread would stop the whole world")
        return running


class VirtualLock:
    """`threading.Lock` of virtual threads. Threads get it in the order in which they came."""

    def __init__(self, threads: VirtualThreads) -> None:
        self._threads = threads
        self._held = False
        self._waiting: deque[_Running] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as in threading
        """Take the lock; with `blocking` wait for it, at most `timeout` seconds. Returns whether it was taken."""
        if not self._held:
            self._held = True
            return True
        if not blocking:
            self._threads.count_call("acquire(blocking=False)")
            return False
        running = self._threads.current()
        self._waiting.append(running)
        try:
            taken = self._threads.wait(None if timeout < 0 else timeout)
        except GreenletExit:
            self._leave(running)
            raise
        if not taken:
            self._leave(running)
        return taken

    def release(self) -> None:
        """Give the lock to the thread that has waited longest. Raises RuntimeError if it is free."""
        if not self._held:
            raise RuntimeError("release unlocked lock")
        if self._waiting:
            self._threads.wake(self._waiting.popleft())
        else:
            self._held = False

    def locked(self) -> bool:
        """True while a thread has it."""
        return self._held

    def _leave(self, running: _Running) -> None:
        if running in self._waiting:
            self._waiting.remove(running)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class VirtualRLock:
    """`threading.RLock` of virtual threads."""

    def __init__(self, threads: VirtualThreads) -> None:
        self._lock = VirtualLock(threads)
        self._owner: greenlet | None = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as in threading
        """Take the lock as VirtualLock does; the thread that has it takes it once more."""
        if self._owner is getcurrent():
            self._count += 1
            return True
        taken = self._lock.acquire(blocking, timeout)
        if taken:
            self._owner, self._count = getcurrent(), 1
        return taken

    def release(self) -> None:
        """Release what was taken last. Raises RuntimeError if another thread has it."""
        if self._owner is not getcurrent():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    # What threading.Condition calls

    def _is_owned(self) -> bool:
        return self._owner is getcurrent()

    def _release_save(self) -> int:
        count, self._count, self._owner = self._count, 0, None
        self._lock.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self._lock.acquire()
        self._owner, self._count = getcurrent(), count
