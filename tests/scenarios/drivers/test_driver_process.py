"""The process of a driver that responses, dies, does not start, or hangs: programs of a few lines, without a client."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_scenarios.drivers.driver_process import DriverProcess
from broker_scenarios.drivers.installed import DriverCommand
from sim_runtime.deadlines import deadline, sleep
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping
    from pathlib import Path

CONNECTS = """
import json, socket, sys
run = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
lines = run.makefile()
"""
ECHOES = f"""{CONNECTS}
for line in lines:
    run.sendall((json.dumps({{**json.loads(line), "type": "ok"}}) + chr(10)).encode())
"""


@pytest.fixture(scope="module")
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("test-drivers") as made:
        yield made


class Driven:
    """A driver's process with a program, and what it has reported."""

    def __init__(self, thread: ReactorThread, folder: Path, program: str) -> None:
        self.thread = thread
        self.problems: list[str] = []
        path = folder / "program.py"
        path.write_text(program)
        command = DriverCommand("toy 1.0", (sys.executable, "-I", str(path)), folder)
        self.process: DriverProcess = thread.call(
            lambda: DriverProcess(command, thread.reactor, "app", self.problems.append)
        )

    async def response(self, f: str) -> Mapping[str, Any]:
        done: Deferred[Mapping[str, Any]] = Deferred()
        self.process.invoke(f, [], done.callback)
        return await deadline(self.thread.reactor, done, 20_000, awaited=f, option="none")

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.thread.call(lambda: call)


def test_an_invocation_gets_its_completion(thread: ReactorThread, tmp_path: Path) -> None:
    driven = Driven(thread, tmp_path, ECHOES)
    assert driven.run(driven.response("flush")) == {"i": 1, "type": "ok", "f": "flush", "mops": []}
    assert driven.run(driven.response("poll"))["i"] == 2
    thread.call(driven.process.kill)
    assert driven.problems == []
    assert driven.run(driven.response("flush")) == {}, "after the end nothing is completed_by by a client"


def test_a_program_that_ends_before_it_connects_is_named_with_its_last_words(
    thread: ReactorThread, tmp_path: Path
) -> None:
    driven = Driven(thread, tmp_path, "raise ImportError('no module of that name')")
    assert driven.run(driven.response("start")) == {}
    assert driven.problems == [
        "client app: driver toy 1.0 ended by itself with status 1: ImportError: no module of that name"
    ]


def test_a_program_that_dies_later_completes_what_is_open(thread: ReactorThread, tmp_path: Path) -> None:
    driven = Driven(thread, tmp_path, CONNECTS + "lines.readline(); lines.readline(); sys.exit(3)\n")
    first, second = driven.response("start"), driven.response("send")

    async def both() -> list[Mapping[str, Any]]:
        waiting = [Deferred.fromCoroutine(first), Deferred.fromCoroutine(second)]
        return [await each for each in waiting]

    assert driven.run(both()) == [{}, {}]
    assert driven.problems == ["client app: driver toy 1.0 ended by itself with status 3"]


def test_a_program_that_is_to_exit_may_end(thread: ReactorThread, tmp_path: Path) -> None:
    driven = Driven(thread, tmp_path, CONNECTS + "lines.readline(); lines.readline(); sys.exit(0)\n")

    async def exits() -> None:
        driven.process.invoke("start", [], lambda _: None)
        driven.process.exit()
        while not driven.process.has_ended:
            await sleep(thread.reactor, 10)

    driven.run(exits())
    assert driven.problems == []


def test_a_frozen_program_responds_when_it_goes_on(thread: ReactorThread, tmp_path: Path) -> None:
    driven = Driven(thread, tmp_path, ECHOES)
    driven.run(driven.response("start"))

    async def frozen() -> bool:
        driven.process.pause()
        responses: list[object] = []
        driven.process.invoke("send", [], responses.append)
        await sleep(thread.reactor, 100)
        came_early = bool(responses)
        driven.process.resume()
        await driven.response("flush")
        return not came_early and len(responses) == 1

    assert driven.run(frozen())
    thread.call(driven.process.kill)
