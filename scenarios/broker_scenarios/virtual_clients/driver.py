"""The drivers of virtual time: the program of a foreign client on an event loop of the world."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from contextlib import ExitStack
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Self

from broker_scenarios.drivers.installed import refuse_drivers
from broker_scenarios.drivers.programs.python_clients.lines import Completions, play
from broker_scenarios.errors import ScenarioError
from broker_scenarios.virtual_clients.aiokafka import PACKAGE, aiokafka_on_virtual_time
from sim_runtime.virtual_event_loop import VirtualEventLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.scenario import Scenario
    from sim_runtime.process_reactor import ProcessReactor
    from sim_runtime.world import World

__all__ = ["VirtualDriver", "VirtualDrivers"]


class VirtualDrivers:
    """The drivers of a scenario. Within `with`, their clients belong to the world.

    Raises:
        ScenarioError: a driver needs real sockets, or another version of its client than the installed one.
    """

    def __init__(self, scenario: Scenario, world: World) -> None:
        refuse_drivers(scenario, "virtual time", but=(PACKAGE,))
        choices = [group.driver for group in scenario.clients if group.driver is not None]
        self._world = world
        self._used = bool(choices)
        self._version = version(PACKAGE) if self._used else ""
        for choice in choices:
            if choice.version not in {None, self._version}:
                raise ScenarioError(
                    f"{scenario.path}: driver {choice} on virtual time is the installed one, {self._version}: run with "
                    "--local"
                )
        self._programs: list[VirtualDriver] = []
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        if self._used:
            self._undo.enter_context(aiokafka_on_virtual_time(self._world))
            # Without a handler the standard library prints the client's warnings between the lines of the run.
            handler, logger = logging.NullHandler(), logging.getLogger(PACKAGE)
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
            if self._used:
                gc.collect()

    def start(
        self, group: ClientGroup, reactor: ProcessReactor, client_id: str, on_problem: Callable[[str], None]
    ) -> VirtualDriver:
        """Start a program; its client starts with its first invocation."""
        who = f"client {client_id}: driver {group.driver}"
        program = VirtualDriver(self._world, reactor, self._version, lambda problem: on_problem(f"{who} {problem}"))
        self._programs.append(program)
        return program


class VirtualDriver:
    """One program of a driver, on the reactor of its process, whose crash and pause are its own."""

    is_ready: Final = True

    def __init__(
        self, world: World, reactor: ProcessReactor, client_version: str, on_problem: Callable[[str], None]
    ) -> None:
        # Imported here: a run without drivers needs no aiokafka.
        from broker_scenarios.drivers.programs.python_clients.aiokafka_client import Client

        self._reactor = reactor
        self._on_problem = on_problem
        self._waiting: dict[int, Callable[[Mapping[str, Any]], None]] = {}
        self._places = 0
        self._loop = VirtualEventLoop(world, reactor)
        self._loop.set_exception_handler(self._unhandled)
        self._invocations: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._loop.create_task(play(_Completions(self), self._invocations, client_version, Client))

    def invoke(
        self, f: str, mops: list[list[Any]], on_response: Callable[[Mapping[str, Any]], None], **facts: Any
    ) -> None:
        """Begin an operation. `on_response` gets its completion in a call of its own."""
        self._places += 1
        self._waiting[self._places] = on_response
        self._loop.call_soon(self._invocations.put_nowait, {"i": self._places, "f": f, "mops": mops, **facts})

    def respond(self, line: dict[str, Any]) -> None:
        """An invocation has a completion."""
        on_response = self._waiting.pop(line["i"])
        self._reactor.callLater(0, on_response, line)

    def exit(self) -> None:
        """Do nothing: the owner ends the process."""

    def pause(self) -> None:
        """Do nothing: the owner freezes the process."""

    def resume(self) -> None:
        """Do nothing: the owner lets the process go on."""

    def kill(self) -> None:
        """Do nothing: the owner ends the process."""

    def discard(self) -> None:
        """The run is over."""
        self._loop.discard()

    def _unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self._on_problem(f"reported {context['message']}" + ("" if error is None else f": {error!r}"))


class _Completions(Completions):
    def __init__(self, driver: VirtualDriver) -> None:
        self._driver = driver

    def respond(self, line: dict[str, Any]) -> None:
        self._driver.respond(line)
