"""Code that was not written for simulation: a test per way in which the machine would leak into a run."""

# ruff: noqa: TID251, PT012
# The code of these tests is foreign code.

from __future__ import annotations

import asyncio
import gc
import os
import random
import secrets
import sys
import threading
import time
import uuid
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.foreign_modules import AnotherWorldRuns, ForeignModules
from sim_runtime.ordered_sets import FrozenOrderedSet, OrderedSet
from sim_runtime.virtual_event_loop import NotOnVirtualTime, VirtualEventLoop
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START_S = 1_767_225_600


def twice(draw: Callable[[], Any]) -> tuple[Any, Any, Any]:
    """The results of two runs of one seed and of another one."""
    found = []
    for seed in (1, 1, 2):
        with ForeignModules(World(seed)):
            found.append(draw())
    return tuple(found)


@pytest.mark.parametrize("name", ["time", "monotonic", "perf_counter", "process_time", "thread_time"])
def test_clocks_show_the_time_of_the_world(name: str) -> None:
    world = World(1)
    with ForeignModules(world):
        first, first_ns = getattr(time, name)(), getattr(time, f"{name}_ns")()
        world.run_for(ms=2.5)
        assert getattr(time, name)() - first == pytest.approx(0.0025, abs=1e-6)
        assert getattr(time, f"{name}_ns")() - first_ns == 2_500_000
        assert first == (START_S if name == "time" else 1_000)


def test_the_monotonic_clock_is_that_of_the_loop() -> None:
    world = World(1)
    loop = VirtualEventLoop(world, world.network.host("x"))
    with ForeignModules(world):
        world.run_for(ms=12.345)
        assert time.monotonic() == loop.time()
    loop.close()


def test_the_calendar_has_the_time_of_the_world() -> None:
    with ForeignModules(World(1)):
        assert time.gmtime()[:6] == (2026, 1, 1, 0, 0, 0)
        assert time.localtime() == time.localtime(START_S)
        assert time.ctime() == time.ctime(START_S)
        assert time.gmtime(0)[:3] == (1970, 1, 1)


def test_a_sleep_is_refused() -> None:
    with ForeignModules(World(1)), pytest.raises(NotOnVirtualTime, match=r"await asyncio\.sleep\(3\)"):
        vars(time)["sleep"](3)


@pytest.mark.parametrize(
    "draw",
    [
        random.random,
        lambda: random.sample(range(1_000), 5),
        lambda: os.urandom(8),
        lambda: random.SystemRandom().random(),
        lambda: secrets.token_hex(8),
        uuid.uuid4,
    ],
    ids=["random", "sample", "urandom", "SystemRandom", "secrets", "uuid4"],
)
def test_chance_comes_from_the_seed(draw: Callable[[], Any]) -> None:
    first, again, other = twice(draw)
    assert first == again != other


def test_uuid1_has_the_time_of_the_world_and_no_hardware_address() -> None:
    first, again, _ = twice(lambda: (uuid.uuid1(), uuid.uuid1()))
    assert first == again
    assert len(set(first)) == 2


def test_the_draws_are_part_of_the_fingerprint() -> None:
    with ForeignModules(world := World(1)):
        before = world.fingerprint()
        os.urandom(1)
        assert world.fingerprint() != before


def test_a_thread_is_refused() -> None:
    with ForeignModules(World(1)), pytest.raises(NotOnVirtualTime, match="one thread"):
        threading.Thread(target=print).start()


def test_a_thread_that_runs_already_sleeps_and_starts_threads() -> None:
    go, done, ended = threading.Event(), threading.Event(), []

    def other() -> None:
        go.wait(10)
        vars(time)["sleep"](0)
        started = threading.Thread(target=ended.append, args=("inner",))
        started.start()
        started.join(10)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with ForeignModules(World(1)):
        go.set()
        assert done.wait(10)
    thread.join(10)
    assert ended == ["inner"]


def test_the_collector_does_not_run_within_and_has_run_before() -> None:
    died: list[str] = []

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            died.append("died")

    Cycle()
    with ForeignModules(World(1)):
        assert died == ["died"]
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.fixture
def package() -> Iterator[ModuleType]:
    module = sys.modules["leaky"] = ModuleType("leaky")
    source = (
        "import datetime, time\nfrom datetime import datetime as named\n"
        "def brokers(names): return set(names), frozenset(names)\n"
        "def today(): return datetime.datetime.now().year, named.now().year, datetime.date.today().year\n"
    )
    exec(source, vars(module))
    yield module
    del sys.modules["leaky"]


def test_sets_of_the_packages_are_ordered(package: ModuleType) -> None:
    names = [f"broker-{number}" for number in range(30)]
    with ForeignModules(World(1), "leaky"):
        made, frozen = package.brokers(names)
        assert (type(made), type(frozen)) == (OrderedSet, FrozenOrderedSet)
        assert list(made) == list(frozen) == names
    assert [type(each) for each in package.brokers(names)] == [set, frozenset]


def test_datetime_of_the_packages_is_that_of_the_world(package: ModuleType) -> None:
    world = World(1)
    world.run_for(ms=3 * 366 * 86_400_000)
    with ForeignModules(world, "leaky"):
        assert package.today() == (2029, 2029, 2029)


def test_everything_is_put_back_also_after_an_error() -> None:
    def names() -> list[Any]:
        modules = [vars(module).copy() for module in (time, os, random, uuid)]
        return [*modules, threading.Thread.start, random.getstate()]

    before = names()
    with pytest.raises(ZeroDivisionError), ForeignModules(World(1)):
        random.random()
        1 / 0  # noqa: B018
    assert names() == before


def test_one_world_at_a_time() -> None:
    with ForeignModules(World(1)):
        with pytest.raises(AnotherWorldRuns), ForeignModules(World(2)):
            pass
        assert time.time() == START_S
    with ForeignModules(World(2)):
        assert time.time() == START_S


def test_an_application_that_uses_all_of_it_runs_equally() -> None:
    async def application() -> tuple[Any, ...]:
        await asyncio.sleep(random.random())
        return time.time(), uuid.uuid4(), await asyncio.to_thread(os.urandom, 4)

    def run() -> Any:
        world = World(7)
        with (
            ForeignModules(world),
            asyncio.Runner(loop_factory=lambda: VirtualEventLoop(world, world.network.host("x"))) as runner,
        ):
            return runner.run(application())

    assert run() == run()
