"""Processes of this machine that share the calls of a function. Ctrl-C and SIGTERM of their parent end them at once."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, resource_tracker
from signal import SIG_BLOCK, SIG_IGN, SIG_UNBLOCK, SIGINT, pthread_sigmask, signal
from typing import TYPE_CHECKING, Protocol, TypeVar

from broker_scenarios.garbage import collect_rarely, rare_collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["workers"]

A = TypeVar("A")
R = TypeVar("R")


class Results(Protocol):
    """Applies a function to each argument, and yields the results in their order."""

    def __call__(self, run: Callable[[A], R], arguments: Iterable[A], /) -> Iterator[R]: ...


@contextmanager
def workers(processes: int) -> Iterator[Results]:
    """Yield a `map` whose calls run in so many processes; with one, in this one.

    The processes end with the block: after their calls if it is left without an error, else at once.
    """
    if processes == 1:
        with rare_collections():
            yield map
        return
    # `spawn`, because a fork copies the locks of other threads.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin_worker)
    try:
        _start_processes(pool, processes)
        yield partial(_in_order, pool)
    except BaseException:
        for process in (pool._processes or {}).values():  # noqa: SLF001 - kill_workers() of Python 3.14
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, run: Callable[[A], R], arguments: Iterable[A]) -> Iterator[R]:
    """Yield the results in the order of the arguments. Unlike those of `pool.map`, its calls are not cancelled when it
    is closed: a pool whose processes are killed sets an error for each call, which a cancelled one does not take.
    """
    calls = deque(pool.submit(run, each) for each in arguments)
    while calls:
        yield calls.popleft().result()


def _start_processes(pool: ProcessPoolExecutor, count: int) -> None:
    """Start the processes with SIGINT blocked, which they inherit: Ctrl-C reaches all processes of a terminal, and one
    that still imports its modules would print a stack. This process receives the signal afterwards.
    """
    resource_tracker.ensure_running()  # it unblocks the signal when it starts
    pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        for _ in range(count):
            pool.submit(int)  # it starts one, as none is idle before it has begun
    finally:
        pthread_sigmask(SIG_UNBLOCK, {SIGINT})


def _begin_worker() -> None:
    """Prepare a process of the pool. Ctrl-C ends the parent, which ends it."""
    signal(SIGINT, SIG_IGN)
    collect_rarely()
