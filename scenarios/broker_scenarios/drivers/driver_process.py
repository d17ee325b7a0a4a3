"""The process of one foreign client: started, given its operations as JSON lines, frozen and killed.

It connects to a port of the run. When it ends before it is killed, or does not connect in time, every open invocation
completes with an unknown outcome, and the run has a problem that names the driver and the last line of its errors.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.address import IPv4Address
from twisted.internet.protocol import ServerFactory
from twisted.protocols.basic import LineReceiver

from broker_client.errors import ProducerError
from broker_scenarios.drivers.installed import commands_of
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.internet.interfaces import IAddress, IDelayedCall, IListeningPort
    from twisted.python.failure import Failure

    from broker_scenarios.drivers.installed import DriverCommand
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.playing.stage import StartDriver
    from sim_runtime.interfaces import IReactor

__all__ = ["DriverEnded", "DriverError", "DriverProcess", "processes_of"]

_START_S: Final = 60.0
"""How long a driver may take to import its client and connect, in seconds, on a busy machine."""
_LOOK_EVERY_S: Final = 0.05
_LAST_BREATH_S: Final = 1.0
"""How long a process may take from the end of its connection to its end, in seconds."""
_LINE_BYTES_MAX: Final = 1 << 28
_ERRORS_READ: Final = 4_096


def processes_of(scenario: Scenario) -> StartDriver:
    """Return what starts the processes of a scenario's drivers. Raises ScenarioError for one that is not installed."""
    commands = commands_of(scenario)
    return lambda group, reactor, client_id, on_problem: DriverProcess(
        commands[group.name], reactor, client_id, on_problem
    )


class DriverError(ProducerError):
    """The error that a foreign client has reported."""

    def __init__(self, text: str, code: int = -1, *, certain: bool = False) -> None:
        super().__init__(text)
        self.error_code = ErrorCode(code) if code in set(ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
        self.maybe_written = not certain


class DriverEnded(ProducerError):
    """The process of the driver has ended before it completed the call."""

    maybe_written = True


class DriverProcess:
    """One process of a driver. `on_problem` receives the reason when it ends by itself or does not start."""

    def __init__(
        self, command: DriverCommand, reactor: IReactor, client_id: str, on_problem: Callable[[str], None]
    ) -> None:
        self._command = command
        self._client_id = client_id
        self._on_problem = on_problem
        self._waiting: dict[int, Callable[[Mapping[str, Any]], None]] = {}
        self._unsent: list[bytes] = []
        self._lines: _Lines | None = None
        self._places = 0
        self.has_ended = False
        self._may_end = False
        self.is_ready = False
        """Whether it has imported what it needs and waits for its first invocation, or has ended."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the process
        port = reactor.listenTCP(0, _Factory(self), interface="127.0.0.1")
        self._port: IListeningPort | None = port
        host = port.getHost()
        assert isinstance(host, IPv4Address), "it listens on TCP"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment.update(command.variables)
        self._process = subprocess.Popen(
            [*command.arguments, str(host.port)],
            cwd=command.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # a driver may have processes of its own: signals reach all of them
            stdout=self._errors,
            stderr=self._errors,
        )
        self._reactor = reactor
        self._look: IDelayedCall = reactor.callLater(_LOOK_EVERY_S, self._look_for_its_end)
        self._too_late: IDelayedCall = reactor.callLater(_START_S, self._did_not_start)

    def invoke(
        self, f: str, mops: list[list[Any]], on_response: Callable[[Mapping[str, Any]], None], **facts: Any
    ) -> None:
        """Begin an operation. `on_response` gets its completion, once, or one without `type` at its end."""
        self._places += 1
        line = {"i": self._places, "type": "invoke", "f": f, "mops": mops, **facts}
        if self.has_ended:
            on_response({})
            return
        self._waiting[self._places] = on_response
        data = json.dumps(line).encode()
        if self._lines is None:
            self._unsent.append(data)
        else:
            self._lines.send(data)

    def exit(self) -> None:
        """Let the program end as it is, with what its client does at the end of a program."""
        self.invoke("exit", [], lambda _: None)
        self._may_end = True

    def pause(self) -> None:
        """Freeze the process, as SIGSTOP does."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it; its connections are reset. A second call has no effect."""
        if not self.has_ended:
            self._end()

    def _signal(self, number: signal.Signals) -> None:
        if not self.has_ended and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _look_for_its_end(self) -> None:
        """See whether the process has ended before it connected; later its connection shows it."""
        if self._process.poll() is not None:
            self._fail("ended by itself")
        elif self._lines is None:
            self._look = self._reactor.callLater(_LOOK_EVERY_S, self._look_for_its_end)

    def _did_not_start(self) -> None:
        self._fail(f"did not start within {_START_S:g} s")

    def connection_made(self, lines: _Lines) -> None:
        """The driver has connected: it gets what was to be done so far."""
        self._lines = lines
        self.is_ready = True
        self._too_late.cancel()
        self._stop_listening()
        for data in self._unsent:
            lines.send(data)
        self._unsent.clear()

    def connection_lost(self) -> None:
        """The driver has ended."""
        if self._may_end:
            self.kill()
        elif not self.has_ended:
            self._fail("ended by itself")

    def completed(self, response: Mapping[str, Any]) -> None:
        """An invocation has a completion."""
        on_response = self._waiting.pop(int(response["i"]), None)
        if on_response is not None:
            on_response(response)

    def _fail(self, what: str) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if self._lines is None else _LAST_BREATH_S)
        status = self._process.poll()
        last_error = self._last_error()
        self._end()
        self._on_problem(
            f"client {self._client_id}: driver {self._command.name} {what}"
            + ("" if status is None else f" with status {status}")
            + (f": {last_error}" if last_error else "")
        )
        waiting, self._waiting = self._waiting, {}
        for on_response in waiting.values():
            on_response({})

    def _end(self) -> None:
        self.has_ended = self.is_ready = True
        for call in (self._look, self._too_late):
            if call.active():
                call.cancel()
        self._stop_listening()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.close()
        if self._lines is not None:
            self._lines.abort()

    def _stop_listening(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            port.stopListening()

    def _last_error(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _ERRORS_READ))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


class _Lines(LineReceiver):
    """The connection of a driver."""

    delimiter = b"\n"
    MAX_LENGTH = _LINE_BYTES_MAX

    def __init__(self, driver: DriverProcess) -> None:
        self._driver = driver

    def send(self, line: bytes) -> None:
        """Send a line."""
        self.sendLine(line)  # type: ignore[no-untyped-call]  # Twisted's

    def abort(self) -> None:
        """Reset the connection."""
        self.transport.abortConnection()  # type: ignore[union-attr]  # it is connected, by TCP

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        self._driver.connection_made(self)

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        self._driver.completed(json.loads(line))

    def connectionLost(self, reason: Failure | None = None) -> None:  # noqa: N802, ARG002 - Twisted's name
        self._driver.connection_lost()


class _Factory(ServerFactory):
    noisy = False

    def __init__(self, driver: DriverProcess) -> None:
        self._driver = driver

    def buildProtocol(self, addr: IAddress | None) -> _Lines:  # noqa: N802, ARG002 - Twisted's name
        return _Lines(self._driver)
