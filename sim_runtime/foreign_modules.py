"""Runs code that was not written for simulation: clocks, chance, threads and the garbage collector belong to the world.

Such code reads `time.time()`, draws from the global `random` and starts threads. Within `ForeignModules` those modules
belong to one world. The change is one of the process: only one world at a time, and no code of real time beside it.
"""

from __future__ import annotations

import gc
import os
import random
import selectors
import socket
import threading
import time
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from sim_runtime.errors import SimRuntimeError
from sim_runtime.numbered_ids import NumberedIds
from sim_runtime.ordered_sets import FrozenOrderedSet, OrderedSet
from sim_runtime.package_names import added_names, replaced_names
from sim_runtime.virtual_datetime import virtual_datetime
from sim_runtime.virtual_event_loop import NotOnVirtualTime

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from sim_runtime.virtual_threads import VirtualThreads
    from sim_runtime.world import World

__all__ = ["AnotherWorldRuns", "ForeignModules"]

STREAM: str = "foreign code"
_NODE = 0x0242AC110002
"""The hardware address of every host, for uuid1."""


class AnotherWorldRuns(SimRuntimeError):
    """The modules of this process belong to a world already."""


class ForeignModules:
    """Within `with`, the standard library's clocks and random numbers are the world's.

    `packages` are those of the foreign code, imported before. In their modules `set(...)` and `frozenset(...)` make
    ordered sets, `id(...)` is a number in the order of the program, and `datetime.now()` shows the world's time.
    Displays (`{a, b}`), comprehensions and the operators of `dict.keys()` still make built-in sets. With `threads` the
    code may start threads, wait for locks and sleep, and its modules `socket` and `selectors` are virtual; without, a
    thread or a sleep is refused.
    """

    _current: ClassVar[ForeignModules | None] = None

    def __init__(self, world: World, *packages: str, threads: VirtualThreads | None = None) -> None:
        self._world = world
        self._packages = packages
        self._threads = threads
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        if ForeignModules._current is not None:
            raise AnotherWorldRuns("a world runs foreign code already: one world per process at a time")
        ForeignModules._current = self
        with ExitStack() as undo:
            undo.callback(setattr, ForeignModules, "_current", None)
            self._take_clocks(undo)
            self._take_chance(undo)
            self._take_threads(undo)
            names = {"set": OrderedSet, "frozenset": FrozenOrderedSet, "id": NumberedIds()}
            undo.enter_context(added_names(self._packages, names))
            undo.enter_context(replaced_names(self._packages, virtual_datetime(self._world.reactor.seconds)))
            self._stop_collector(undo)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    @staticmethod
    def _replace(undo: ExitStack, owner: object, name: str, value: object) -> None:
        undo.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def _take_clocks(self, undo: ExitStack) -> None:
        core = self._world.reactor
        monotonic = core.monotonic

        def now_ns() -> int:
            return core.now_us * 1000

        def monotonic_ns() -> int:
            return round(monotonic() * 1e6) * 1000

        clocks: dict[str, Callable[[], object]] = {"time": core.seconds, "time_ns": now_ns}
        # The time of a processor is free here: those clocks show the same.
        clocks |= dict.fromkeys(("monotonic", "perf_counter", "process_time", "thread_time"), monotonic)
        clocks |= dict.fromkeys(("monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns"), monotonic_ns)
        for name, clock in clocks.items():
            self._replace(undo, time, name, clock if self._threads is None else self._threads.counted(name, clock))
        others: dict[str, Callable[..., object]] = {
            "sleep": _here_alone(self._sleep, time.sleep),  # noqa: TID251 - other threads sleep as before
            "gmtime": _with_default(time.gmtime, core.seconds),
            "localtime": _with_default(time.localtime, core.seconds),
            "ctime": _with_default(time.ctime, core.seconds),
        }
        for name, function in others.items():
            self._replace(undo, time, name, function)

    def _take_threads(self, undo: ExitStack) -> None:
        threads, real = self._threads, threading.Thread
        if threads is None:
            self._replace(undo, real, "start", _here_alone(_no_thread, real.start))
            return
        # Threads need greenlet, which is not installed everywhere.
        from sim_runtime.virtual_sockets import selectors_module, socket_module
        from sim_runtime.virtual_threads import VirtualLock, VirtualRLock

        join, is_alive, current_thread = real.join, real.is_alive, threading.current_thread
        self._replace(undo, real, "start", _here_alone(threads.start, real.start))
        self._replace(undo, real, "is_alive", lambda thread: threads.is_alive(thread) or is_alive(thread))

        def join_thread(thread: threading.Thread, timeout: float | None = None) -> None:
            (threads.join if threads.has(thread) else join)(thread, timeout)

        self._replace(undo, real, "join", join_thread)
        here: dict[str, object] = {
            "Lock": _of_programs(threads, VirtualLock, threading.Lock),
            "_allocate_lock": _of_programs(threads, VirtualLock, threading.Lock),
            "RLock": _of_programs(threads, VirtualRLock, threading.RLock),
            "current_thread": lambda: threads.current_thread() or current_thread(),
        }
        stand_ins: dict[object, object] = {
            getattr(threading, name): value for name, value in here.items() if name != "_allocate_lock"
        }
        for name, value in here.items():
            self._replace(undo, threading, name, value)
        stand_ins |= {
            socket: socket_module(threads, self._world.network),
            selectors: selectors_module(threads),
        }
        undo.enter_context(replaced_names(self._packages, stand_ins))

    def _sleep(self, seconds: float) -> None:
        threads = self._threads
        if threads is None or threads.current_thread() is None:
            raise NotOnVirtualTime(f"time.sleep({seconds}) would stop the whole world: await asyncio.sleep({seconds})")
        threads.sleep(seconds)

    def _take_chance(self, undo: ExitStack) -> None:
        stream = self._world.streams.stream(STREAM)
        undo.callback(random.setstate, random.getstate())
        random.seed(stream.getrandbits(256))  # noqa: TID251 - the global stream becomes one of the world's
        self._replace(undo, os, "urandom", stream.randbytes)
        self._replace(undo, random, "_urandom", stream.randbytes)  # SystemRandom's, and so that of secrets
        # uuid1 without the C library, which reads the machine's clock.
        self._replace(undo, uuid, "_generate_time_safe", None)
        self._replace(undo, uuid, "_last_timestamp", None)
        self._replace(undo, uuid, "_node", _NODE)

    def _stop_collector(self, undo: ExitStack) -> None:
        """Objects die when the last reference goes, in the order of the program, and not at a collection."""
        gc.collect()
        if gc.isenabled():
            undo.callback(gc.enable)
            gc.disable()


def _with_default(function: Callable[..., Any], now: Callable[[], float]) -> Callable[..., Any]:
    def with_default(seconds: float | None = None) -> Any:
        return function(now() if seconds is None else seconds)

    return with_default


def _here_alone(refused: Callable[..., object], real: Callable[..., object]) -> Callable[..., object]:
    """Return `refused` for the thread that calls this, and `real` for others: a library's own, that run anyway."""
    world = threading.get_ident()

    def of_thread(*arguments: object) -> object:
        return (refused if threading.get_ident() == world else real)(*arguments)

    return of_thread


def _of_programs(
    threads: VirtualThreads, virtual: Callable[[VirtualThreads], object], real: Callable[[], object]
) -> Callable[[], object]:
    """Make what a thread of a program gets, and leave the rest of the process what it has."""
    return lambda: real() if threads.current_thread() is None else virtual(threads)


def _no_thread(thread: threading.Thread) -> NoReturn:
    raise NotOnVirtualTime(f"{thread!r} cannot start: a world has one thread; an executor of the loop runs inline")
