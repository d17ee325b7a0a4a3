"""Threads on virtual time: what `threading` promises, in an order that the world alone decides."""

# ruff: noqa: TID251
# The code of these tests is foreign code.

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.foreign_modules import ForeignModules
from sim_runtime.process_reactor import ProcessReactor
from sim_runtime.virtual_event_loop import NotOnVirtualTime
from sim_runtime.virtual_reactor import CallLimitExceeded
from sim_runtime.virtual_threads import CALLS_PER_SLICE, ENDS_MAX, RESUME_S, VirtualLock, VirtualThreads
from sim_runtime.world import World
from tests.sim_runtime.virtual_programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable


def started(*targets: Any) -> list[threading.Thread]:
    threads = [threading.Thread(target=target) for target in targets]
    for each in threads:
        each.start()
    return threads


def joined(*targets: Any) -> None:
    for each in started(*targets):
        each.join()


def test_sleeping_takes_virtual_time_and_other_threads_run_meanwhile() -> None:
    seen: list[tuple[str, int]] = []

    def sleep(name: str, seconds: float) -> None:
        time.sleep(seconds)
        seen.append((name, round(time.monotonic() - began)))

    def program() -> None:
        joined(lambda: sleep("long", 30), lambda: sleep("short", 10))

    began = 1_000
    run_program(World(1), program)
    assert seen == [("short", 10), ("long", 30)]


def test_a_lock_goes_to_those_who_wait_in_their_order() -> None:
    seen: list[int] = []

    def program() -> None:
        lock = threading.Lock()

        def work(number: int) -> None:
            with lock:
                time.sleep(1)
                seen.append(number)

        joined(*(lambda number=number: work(number) for number in range(4)))
        assert not lock.locked()

    run_program(World(1), program)
    assert seen == [0, 1, 2, 3]


def test_waiting_for_a_lock_ends_after_its_timeout() -> None:
    def program() -> tuple[bool, bool, float]:
        lock = threading.Lock()
        lock.acquire()
        began = time.monotonic()
        return lock.acquire(blocking=False), lock.acquire(timeout=2), time.monotonic() - began

    at_once, later, took_s = run_program(World(1), program)
    assert (at_once, later) == (False, False)
    assert took_s == pytest.approx(2, abs=0.01)


def test_a_lock_that_is_free_is_not_released() -> None:
    with pytest.raises(RuntimeError, match="release unlocked lock"):
        VirtualLock(VirtualThreads()).release()


def test_a_lock_of_a_thread_is_its_own_as_often_as_it_takes_it() -> None:
    seen: list[str] = []

    def program() -> None:
        lock = threading.RLock()

        def owner() -> None:
            with lock, lock:
                time.sleep(1)
                seen.append("owner")

        def other() -> None:
            with lock:
                seen.append("other")

        joined(owner, other)
        with pytest.raises(RuntimeError, match="cannot release un-acquired lock"):
            lock.release()

    run_program(World(1), program)
    assert seen == ["owner", "other"]


def test_conditions_events_and_queues_are_those_of_the_standard_library() -> None:
    def program() -> list[int]:
        box: queue.Queue[int] = queue.Queue(maxsize=1)
        condition, ready, found = threading.Condition(), threading.Event(), []

        def produce() -> None:
            ready.wait()
            for number in range(3):
                box.put(number)
                time.sleep(0.1)

        def consume() -> None:
            ready.set()
            found.extend(box.get(timeout=5) for _ in range(3))
            with condition:
                condition.notify_all()

        with condition:
            threads = started(produce, consume)
            assert condition.wait(timeout=5)
        for each in threads:
            each.join()
        return found

    assert run_program(World(1), program) == [0, 1, 2]


def test_an_event_that_never_comes_is_false_after_the_timeout() -> None:
    assert run_program(World(1), lambda: threading.Event().wait(3)) is False


def test_a_thread_knows_itself_and_is_alive_until_it_ends() -> None:
    def program() -> tuple[bool, bool, bool, bool]:
        seen = []
        (thread,) = started(lambda: seen.append(threading.current_thread()) or time.sleep(1))
        thread.join(timeout=0.5)
        alive = thread.is_alive()
        thread.join()
        return seen == [thread], alive, thread.is_alive(), threading.current_thread().name == "main"

    assert run_program(World(1), program) == (True, True, False, True)


def test_a_thread_starts_once_and_does_not_join_itself() -> None:
    def program() -> None:
        (thread,) = started(lambda: None)
        with pytest.raises(RuntimeError, match="threads can only be started once"):
            thread.start()
        thread.join()
        thread.join()
        with pytest.raises(RuntimeError, match="cannot join current thread"):
            threading.current_thread().join()

    run_program(World(1), program)


def test_an_error_that_leaves_a_thread_is_reported() -> None:
    def fail() -> None:
        raise ValueError("of the program")

    with pytest.raises(ValueError, match="of the program"):
        run_program(World(1), lambda: joined(fail))


def test_waiting_outside_of_a_thread_is_refused() -> None:
    threads = VirtualThreads()
    with ForeignModules(World(1), threads=threads):
        with pytest.raises(NotOnVirtualTime, match=r"time.sleep\(1\) would stop the whole world"):
            time.sleep(1)
        with pytest.raises(NotOnVirtualTime, match="the start of one outside of a virtual thread"):
            threading.Thread(target=print, name="one").start()
        lock = VirtualLock(threads)
        lock.acquire()
        with pytest.raises(NotOnVirtualTime, match="waiting outside of a virtual thread"):
            lock.acquire()


def test_time_passes_for_a_thread_that_reads_a_clock_without_a_wait_and_others_run() -> None:
    seen: list[str] = []

    def spin() -> None:
        end = time.monotonic() + 0.095
        while time.monotonic() < end:
            pass
        seen.append("spun")

    def program() -> None:
        began = time.monotonic()
        joined(spin, lambda: seen.append("other"))
        seen.append(f"{time.monotonic() - began:.2f}")

    run_program(World(1), program)
    assert seen == ["other", "spun", "0.10"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda lock: lock.acquire(blocking=False), r"acquire\(blocking=False\)"),
        (lambda _: time.monotonic(), "monotonic"),
        (lambda _: time.time_ns(), "time_ns"),
    ],
)
def test_a_thread_that_never_waits_ends_the_run_also_if_it_catches_everything(
    call: Callable[[Any], object], name: str
) -> None:
    world, threads, calls = World(1), VirtualThreads(), []
    threads.busy_calls_limit = 3 * CALLS_PER_SLICE

    def program() -> None:
        lock = threading.Lock()
        lock.acquire()
        while True:
            try:
                call(lock)
                calls.append(1)
            except BaseException:  # noqa: BLE001 - a program that catches everything
                pass

    reactor = world.network.host("application")
    with ForeignModules(world, threads=threads):
        thread = threads.start_program(reactor, program, name="busy", on_error=lambda *_: None)
        with pytest.raises(CallLimitExceeded, match=f"30000 calls .* busy_calls_limit; .* {name} of thread busy"):
            world.run_for(ms=1_000)
        assert len(calls) == 3 * CALLS_PER_SLICE - 1
        threads.discard(reactor)
        assert not threads.is_alive(thread)


def test_the_calls_of_a_thread_that_waits_are_not_limited() -> None:
    threads = VirtualThreads()
    threads.busy_calls_limit = 100

    def program() -> float:
        began = time.monotonic()
        for _ in range(2 * CALLS_PER_SLICE):
            time.monotonic()
            threads.sleep(0)
        return time.monotonic() - began

    assert run_program(World(1), program, threads=threads) == pytest.approx(2 * CALLS_PER_SLICE * RESUME_S)


def test_a_program_that_is_paused_or_killed_does_not_go_on() -> None:
    world, threads, seen = World(1), VirtualThreads(), []
    reactor = ProcessReactor(world.network.host("application"))

    def program() -> None:
        try:
            while True:
                time.sleep(1)
                seen.append(round(10 * (time.monotonic() - 1_000)))
        finally:
            seen.append(-1)

    with ForeignModules(world, threads=threads):
        thread = threads.start_program(reactor, program, on_error=lambda *_: None)
        world.run_for(ms=2_500)
        reactor.pause()
        world.run_for(ms=3_000)
        reactor.resume()
        world.run_for(ms=1_200)
        reactor.crash()
        world.run_for(ms=5_000)
        assert seen == [10, 20, 55, 65]
        threads.discard(reactor)
        assert seen == [10, 20, 55, 65, -1]
        assert not threads.is_alive(thread)


def test_a_program_that_catches_its_end_is_left() -> None:
    world, threads, caught = World(1), VirtualThreads(), []
    reactor = ProcessReactor(world.network.host("application"))

    def program() -> None:
        for _ in range(1_000):
            try:
                threads.sleep(1)
            except BaseException as error:  # noqa: BLE001 - a program that cannot be ended
                caught.append(error)

    with ForeignModules(world, threads=threads):
        thread = threads.start_program(reactor, program, on_error=lambda *_: None)
        world.run_for(ms=2_500)
        threads.discard(reactor)
        assert len(caught) == ENDS_MAX
        assert not threads.is_alive(thread)


def test_threads_of_the_machine_keep_their_locks() -> None:
    threads = VirtualThreads()
    with ForeignModules(World(1), threads=threads):
        assert type(threading.Lock()).__module__ == "_thread"
        assert threading.current_thread() is threading.main_thread()
