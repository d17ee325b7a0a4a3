"""The drivers of virtual time: the program of a foreign client in the world, on an event loop or in threads."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from abc import ABC, abstractmethod
from collections import deque
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Self

from broker_scenarios.drivers.installed import refuse_drivers
from broker_scenarios.drivers.programs.python_clients.lines import Completions, play, play_in_turn
from broker_scenarios.errors import ScenarioError
from broker_scenarios.virtual_clients import aiokafka, kafka_python
from sim_runtime.foreign_modules import ForeignModules
from sim_runtime.virtual_event_loop import VirtualEventLoop

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.scenario import Scenario
    from sim_runtime.process_reactor import ProcessReactor
    from sim_runtime.virtual_threads import VirtualThreads
    from sim_runtime.world import World

__all__ = ["VirtualDriver", "VirtualDrivers"]

AIOKAFKA: Final = "aiokafka"
KAFKA_PYTHON: Final = "kafka-python"


class VirtualDrivers:
    """The drivers of a scenario. Within `with`, their clients belong to the world.

    Raises:
        ScenarioError: a driver needs real sockets, another version of its client than the installed one, or a package
            that is not installed.
    """

    def __init__(self, scenario: Scenario, world: World) -> None:
        refuse_drivers(scenario, "virtual time", but=(AIOKAFKA, KAFKA_PYTHON))
        choices = [group.driver for group in scenario.clients if group.driver is not None]
        self._world = world
        self._versions = {choice.driver.name: version(choice.driver.name) for choice in choices}
        for choice in choices:
            installed = self._versions[choice.driver.name]
            if choice.version not in {None, installed}:
                raise ScenarioError(
                    f"{scenario.path}: driver {choice} on virtual time is the installed one, {installed}: run with "
                    "--local"
                )
        self._threads = _threads() if KAFKA_PYTHON in self._versions else None
        self._programs: list[VirtualDriver] = []
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        if not self._versions:
            return self
        clients = [module for name, module in _MODULES.items() if name in self._versions]
        packages = [module.PACKAGE for module in clients]
        for module in clients:
            module.load()
        self._undo.enter_context(ForeignModules(self._world, *packages, threads=self._threads))
        if AIOKAFKA in self._versions:
            self._undo.enter_context(aiokafka.adapted())
        if self._threads is not None:
            self._undo.enter_context(kafka_python.adapted(self._threads))
        for package in packages:
            # Without a handler the standard library prints the client's warnings between the lines of the run.
            handler, logger = logging.NullHandler(), logging.getLogger(package)
            logger.addHandler(handler)
            self._undo.callback(logger.removeHandler, handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._undo, warnings.catch_warnings():
            # A killed program has closed nothing: that is no warning of this one.
            warnings.simplefilter("ignore", ResourceWarning)
            for program in self._programs:
                program.discard()
            self._programs.clear()
            if self._versions:
                gc.collect()

    def start(
        self, group: ClientGroup, reactor: ProcessReactor, client_id: str, on_problem: Callable[[str], None]
    ) -> VirtualDriver:
        """Start a program; its client starts with its first invocation."""
        choice = group.driver
        assert choice is not None, "a client without a driver is not started here"
        who = f"client {client_id}: driver {choice}"
        program = self._make(choice.driver.name, reactor, lambda problem: on_problem(f"{who} {problem}"))
        self._programs.append(program)
        return program

    def _make(self, name: str, reactor: ProcessReactor, on_problem: Callable[[str], None]) -> VirtualDriver:
        if name == KAFKA_PYTHON:
            assert self._threads is not None, "made for its driver"
            return _ThreadDriver(self._threads, reactor, self._versions[name], on_problem)
        return _LoopDriver(self._world, reactor, self._versions[name], on_problem)


_MODULES: Final = {AIOKAFKA: aiokafka, KAFKA_PYTHON: kafka_python}


def _threads() -> VirtualThreads:
    if find_spec("greenlet") is None:
        raise ScenarioError(f"driver {KAFKA_PYTHON} on virtual time needs greenlet: pip install 'broker-sim[threads]'")
    from sim_runtime.virtual_threads import VirtualThreads

    return VirtualThreads()


class VirtualDriver(ABC):
    """One program of a driver, on the reactor of its process, whose crash and pause are its own."""

    is_ready: Final = True

    def __init__(self, reactor: ProcessReactor) -> None:
        self._reactor = reactor
        self._waiting: dict[int, Callable[[Mapping[str, Any]], None]] = {}
        self._places = 0

    def invoke(
        self, f: str, mops: list[list[Any]], on_response: Callable[[Mapping[str, Any]], None], **facts: Any
    ) -> None:
        """Begin an operation. `on_response` gets its completion in a call of its own."""
        self._places += 1
        self._waiting[self._places] = on_response
        self._put({"i": self._places, "f": f, "mops": mops, **facts})

    @abstractmethod
    def _put(self, invocation: dict[str, Any]) -> None:
        """Pass an invocation to the program."""

    def respond(self, line: dict[str, Any]) -> None:
        """An invocation has a completion."""
        on_response = self._waiting.pop(line["i"])
        self._reactor.callLater(0, on_response, line)

    def exit(self) -> None:  # noqa: B027 - a target calls it
        """Do nothing: the owner ends the process."""

    def pause(self) -> None:  # noqa: B027
        """Do nothing: the owner freezes the process."""

    def resume(self) -> None:  # noqa: B027
        """Do nothing: the owner lets the process go on."""

    def kill(self) -> None:  # noqa: B027
        """Do nothing: the owner ends the process."""

    @abstractmethod
    def discard(self) -> None:
        """The run is over."""


class _LoopDriver(VirtualDriver):
    """The program of aiokafka."""

    def __init__(
        self, world: World, reactor: ProcessReactor, client_version: str, on_problem: Callable[[str], None]
    ) -> None:
        # Imported here: a run without drivers needs no aiokafka.
        from broker_scenarios.drivers.programs.python_clients.aiokafka_client import Client

        super().__init__(reactor)
        self._on_problem = on_problem
        self._loop = VirtualEventLoop(world, reactor)
        self._loop.set_exception_handler(self._unhandled)
        self._invocations: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._loop.create_task(play(_Completions(self), self._invocations, client_version, Client))

    def _put(self, invocation: dict[str, Any]) -> None:
        self._loop.call_soon(self._invocations.put_nowait, invocation)

    def discard(self) -> None:
        """The run is over."""
        self._loop.discard()

    def _unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self._on_problem(f"reported {context['message']}" + ("" if error is None else f": {error!r}"))


class _ThreadDriver(VirtualDriver):
    """The program of kafka-python."""

    def __init__(
        self, threads: VirtualThreads, reactor: ProcessReactor, client_version: str, on_problem: Callable[[str], None]
    ) -> None:
        from broker_scenarios.drivers.programs.python_clients.kafka_python_client import Client

        super().__init__(reactor)
        self._threads = threads
        self._invocations: deque[dict[str, Any]] = deque()
        self._wake: Callable[[], None] | None = None

        def main() -> None:
            play_in_turn(_Completions(self), self._inbox(), client_version, Client)

        def report(thread: threading.Thread, error: Exception) -> None:
            on_problem(f"reported an error that ended thread {thread.name}: {error!r}")

        threads.start_program(reactor, main, on_error=report)

    def _inbox(self) -> Iterator[dict[str, Any]]:
        while True:
            while not self._invocations:
                self._wake = self._threads.waker()
                self._threads.wait()
            yield self._invocations.popleft()

    def _put(self, invocation: dict[str, Any]) -> None:
        self._invocations.append(invocation)
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def discard(self) -> None:
        """The run is over."""
        self._threads.discard(self._reactor)


class _Completions(Completions):
    def __init__(self, driver: VirtualDriver) -> None:
        self._driver = driver

    def respond(self, line: dict[str, Any]) -> None:
        self._driver.respond(line)
