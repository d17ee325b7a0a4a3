"""The rules of an event loop on virtual time."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.process_reactor import ProcessReactor
from sim_runtime.virtual_event_loop import NotOnVirtualTime, UnhandledInLoop, VirtualEventLoop
from sim_runtime.virtual_reactor import CallLimitExceeded
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@pytest.fixture
def world() -> World:
    return World(1)


@pytest.fixture
def loop(world: World) -> Iterator[VirtualEventLoop]:
    made = VirtualEventLoop(world, world.network.host("application"))
    yield made
    made.close()


# Time


def test_sleeping_takes_no_time_of_the_machine(world: World, loop: VirtualEventLoop) -> None:
    began = world.reactor.seconds()
    loop.run_until_complete(asyncio.sleep(3_600))
    assert world.reactor.seconds() - began == pytest.approx(3_600)


def test_the_clock_is_the_monotonic_one_of_the_world(world: World, loop: VirtualEventLoop) -> None:
    assert loop.time() == 1_000
    world.run_for(ms=1.5)
    assert loop.time() == world.reactor.monotonic() == 1_000.0015


def test_a_positive_delay_never_becomes_zero(world: World, loop: VirtualEventLoop) -> None:
    async def wait_for_the_rest_of_a_delay() -> float:
        began = loop.time()
        for _ in range(10):
            await asyncio.sleep(1e-12)
        return loop.time() - began

    assert 0.000_009 < loop.run_until_complete(wait_for_the_rest_of_a_delay()) < 0.000_03


@pytest.mark.parametrize("delay", [0.0000004, 0.000001, 0.0000015, 0.1, 0.3, 16.507000999999, 1e5 / 3])
def test_a_timer_never_fires_before_its_time_and_within_a_microsecond(loop: VirtualEventLoop, delay: float) -> None:
    for offset in (0.0, 0.000_000_1, 0.123_456_789):
        fired: list[float] = []
        when = loop.time() + delay + offset
        loop.call_at(when, lambda seen=fired: seen.append(loop.time()))
        loop.run_until_complete(asyncio.sleep(delay + 1))
        assert when <= fired[0] < when + 0.000_001_1


def test_timers_that_differ_by_less_than_the_clock_shows_end(loop: VirtualEventLoop) -> None:
    fired: list[float] = []
    loop.call_at(1_016.507_001_000_000_1, lambda: fired.append(loop.time()))
    loop.run_until_complete(asyncio.sleep(20))
    assert fired == [1_016.507_002]


def test_cancelled_timers_make_no_iterations(world: World, loop: VirtualEventLoop) -> None:
    async def time_out() -> None:
        for _ in range(1_000):
            async with asyncio.timeout(30):
                await asyncio.sleep(0.001)

    loop.run_until_complete(time_out())
    calls = world.reactor.calls_made
    world.run_for(ms=60_000)
    assert world.reactor.calls_made - calls <= 1


def test_time_moves_on_between_two_iterations(loop: VirtualEventLoop) -> None:
    async def wait_until_the_time_is_over() -> int:
        deadline, polls = loop.time() + 0.5, 0
        while not loop.time() > deadline:
            polls += 1
            await asyncio.wait([loop.create_future()], timeout=max(0, deadline - loop.time()))
        return polls

    assert loop.run_until_complete(wait_until_the_time_is_over()) <= 2


# Order


def test_one_call_of_the_reactor_is_one_iteration(world: World, loop: VirtualEventLoop) -> None:
    order: list[str] = []

    def first() -> None:
        order.append("first")
        loop.call_soon(order.append, "of the next iteration")

    loop.call_soon(first)
    loop.call_soon(order.append, "second")
    assert order == []
    assert world.reactor.step()
    assert order == ["first", "second"]
    assert world.reactor.step()
    assert order == ["first", "second", "of the next iteration"]
    assert not world.reactor.step()


def test_a_callback_that_schedules_itself_is_found(world: World, loop: VirtualEventLoop) -> None:
    world.reactor.calls_per_instant_limit = 1_000

    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(CallLimitExceeded, match="iterations without a pause"):
        loop.run_until_complete(spin())


def test_sets_of_futures_and_tasks_have_the_order_of_their_creation(loop: VirtualEventLoop) -> None:
    async def run() -> tuple[list[int], list[str]]:
        futures = [loop.create_future() for _ in range(100)]
        for number, future in enumerate(futures):
            future.set_result(number)
        done, _ = await asyncio.wait(futures)
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(5)]
        await asyncio.wait(tasks)
        return [future.result() for future in done], [task.get_name() for task in tasks]

    results, names = loop.run_until_complete(run())
    assert len({hash(loop.create_future()) for _ in range(10)}) == 10
    assert results == sorted(results, key=lambda number: (number + 2) % 128 if number + 2 < 512 else number)
    assert names == ["Task-2", "Task-3", "Task-4", "Task-5", "Task-6"]


def test_async_generators_close_in_the_order_of_their_creation(loop: VirtualEventLoop) -> None:
    closed: list[int] = []
    kept = []

    async def numbers(name: int) -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            closed.append(name)

    async def run() -> None:
        for name in range(20):
            generator = numbers(name)
            kept.append(generator)
            await anext(generator)

    loop.run_until_complete(run())
    loop.run_until_complete(loop.shutdown_asyncgens())
    assert closed == list(range(20))


# Running


def test_a_runner_works(world: World) -> None:
    with asyncio.Runner(loop_factory=lambda: VirtualEventLoop(world, world.network.host("x"))) as runner:
        assert runner.run(asyncio.sleep(1, "done")) == "done"


def test_the_run_methods_of_the_world_drive_the_loop(world: World, loop: VirtualEventLoop) -> None:
    task = loop.create_task(asyncio.sleep(2, "done"))
    world.run_for(ms=1_999)
    assert not task.done()
    world.run_for(ms=1.1)
    assert task.result() == "done"


def test_the_loop_is_the_running_one_within_callbacks_alone(world: World, loop: VirtualEventLoop) -> None:
    seen: list[Any] = []
    loop.call_soon(lambda: seen.append((asyncio.get_running_loop(), loop.is_running())))
    world.run_for(ms=1)
    assert seen == [(loop, True)]
    assert not loop.is_running()
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_stop_ends_run_forever_after_the_iteration(loop: VirtualEventLoop) -> None:
    seen: list[int] = []
    loop.call_soon(loop.stop)
    loop.call_soon(seen.append, 1)
    loop.call_later(5, seen.append, 2)
    loop.run_forever()
    assert seen == [1]


def test_a_program_that_waits_for_nothing_ends_with_an_error(world: World) -> None:
    loop = VirtualEventLoop(world, world.network.host("x"), deadline_ms=1_000)

    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlineExceeded, match="asyncio program"):
        loop.run_until_complete(wait())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    world.run_for(ms=1)
    loop.close()


def test_two_programs_share_the_world(world: World) -> None:
    order: list[str] = []
    loops = [VirtualEventLoop(world, world.network.host(name)) for name in ("a", "b")]

    async def tick(name: str, every: float) -> None:
        for _ in range(3):
            await asyncio.sleep(every)
            order.append(f"{name}{asyncio.get_running_loop().time() - 1000:.0f}")

    tasks = [loops[0].create_task(tick("a", 2)), loops[1].create_task(tick("b", 3))]
    world.run_until(lambda: all(task.done() for task in tasks))
    assert order == ["a2", "b3", "a4", "b6", "a6", "b9"]
    for loop in loops:
        loop.close()


def test_a_frozen_process_stands_still_and_a_killed_one_is_gone(world: World) -> None:
    process = ProcessReactor(world.network.host("x"))
    loop = VirtualEventLoop(world, process)
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(loop.time() - 1000)

    task = loop.create_task(tick())  # it stays pending for ever, as a killed program's
    world.run_for(ms=1_500)
    process.pause()
    world.run_for(ms=3_000)
    process.resume()
    world.run_for(ms=1_200)
    assert ticks == pytest.approx([1, 4.5, 5.5], abs=1e-5)
    process.crash()
    world.run_for(ms=5_000)
    assert len(ticks) == 3
    loop.close()
    assert not task.done()


# Errors


def test_an_error_in_a_callback_ends_the_run(world: World, loop: VirtualEventLoop) -> None:
    def fail() -> None:
        raise ValueError("of a callback")

    loop.call_soon(fail)
    with pytest.raises(UnhandledInLoop, match="Exception in callback") as raised:
        world.run_for(ms=1)
    assert isinstance(raised.value.__cause__, ValueError)
    world.run_for(ms=1)


def test_an_error_that_is_never_retrieved_ends_the_run(world: World, loop: VirtualEventLoop) -> None:
    async def fail() -> None:
        raise ValueError("of a task")

    async def forget() -> None:
        task = asyncio.create_task(fail())
        await asyncio.sleep(1)
        del task

    with pytest.raises(UnhandledInLoop, match="never retrieved"):
        loop.run_until_complete(forget())
    world.run_for(ms=1)


def test_a_handler_of_the_program_takes_the_errors(world: World, loop: VirtualEventLoop) -> None:
    taken: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: taken.append(context))
    loop.call_soon(lambda: 1 / 0)
    world.run_for(ms=1)
    assert isinstance(taken[0]["exception"], ZeroDivisionError)


# Executors and names


def test_an_executor_runs_inline_in_a_later_iteration(loop: VirtualEventLoop) -> None:
    order: list[str] = []

    async def run() -> int:
        future = loop.run_in_executor(None, lambda: order.append("work") or 7)
        order.append("after the call")
        return await future

    assert loop.run_until_complete(run()) == 7
    assert order == ["after the call", "work"]
    with pytest.raises(ZeroDivisionError):
        loop.run_until_complete(asyncio.wait_for(loop.run_in_executor(None, lambda: 1 / 0), 1))


def test_names_are_those_of_the_network(world: World, loop: VirtualEventLoop) -> None:
    ip = world.network.host("broker-1").ip
    ((family, kind, _, _, address),) = loop.run_until_complete(loop.getaddrinfo("broker-1", 9092))
    assert (family, kind, address) == (socket.AF_INET, socket.SOCK_STREAM, (ip, 9092))
    assert loop.run_until_complete(loop.getaddrinfo(b"localhost", "80"))[0][4] == ("127.0.0.1", 80)
    assert loop.run_until_complete(loop.getnameinfo((ip, 80))) == (ip, "80")
    with pytest.raises(socket.gaierror):
        loop.run_until_complete(loop.getaddrinfo("kafka.example", 9092))
    with pytest.raises(socket.gaierror):
        loop.run_until_complete(loop.getaddrinfo("broker-1", 9092, family=socket.AF_INET6))


# What has no place


def test_what_cannot_be_simulated_is_refused(loop: VirtualEventLoop) -> None:
    refused = [
        loop.create_connection(asyncio.Protocol, "x", 1, ssl=True),
        loop.create_connection(asyncio.Protocol, sock=object()),
        loop.create_server(asyncio.Protocol, "x", 1, ssl=object()),
        loop.start_tls(None, None, None),
        loop.create_datagram_endpoint(asyncio.DatagramProtocol),
        loop.connect_accepted_socket(asyncio.Protocol, None),
        loop.subprocess_exec(asyncio.SubprocessProtocol, "true"),
        loop.subprocess_shell(asyncio.SubprocessProtocol, "true"),
    ]
    for call in refused:
        with pytest.raises(NotOnVirtualTime, match="cannot be simulated"):
            loop.run_until_complete(call)
    with pytest.raises(NotOnVirtualTime):
        loop.add_signal_handler(15, print)
