"""The processes of a real cluster's nodes, for rules that kill, stop, pause and start them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final, Protocol

from twisted.internet.threads import deferToThreadPool

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.defer import Deferred

    from sim_runtime.real_reactor import RealReactor

__all__ = ["ACTIONS", "BrokerProcesses", "CommandedProcesses"]

ACTIONS: Final = ("kill", "stop", "start", "pause", "unpause")
"""What can be done to a process; the words are those of container runtimes."""
COMMAND_SECONDS_MAX: Final = 120


class BrokerProcesses(Protocol):
    """The nodes of a cluster as processes; each call returns when it is done."""

    @property
    def controller_ids(self) -> Sequence[int]:
        """The ids of the controllers that are processes of their own."""

    def problem(self) -> str | None:
        """Return why a node has ended by itself, None while all run or if that cannot be seen."""

    def do(self, action: str, node_id: int) -> Deferred[None]:
        """Do one of ACTIONS to a node: `stop` is SIGTERM and waits for the end, `start` does not wait for service."""


class CommandedProcesses:
    """Processes that a command of the user controls, such as `docker {action} kafka-{id}`."""

    controller_ids: Sequence[int] = ()

    def __init__(self, command: str, reactor: RealReactor) -> None:
        self._command = command
        self._reactor = reactor

    def problem(self) -> str | None:
        """A command shows nothing of the processes."""
        return None

    def do(self, action: str, node_id: int) -> Deferred[None]:
        """Run the command in a shell. Fails with ScenarioError if it does."""
        command = self._command.replace("{action}", action).replace("{id}", str(node_id))
        return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), _run, command)


def _run(command: str) -> None:
    try:
        # The command is the user's own, with pipes and variables if need be.
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise ScenarioError(f"--control: {command!r} had not ended after {COMMAND_SECONDS_MAX} s") from None
    if done.returncode:
        output = (done.stderr or done.stdout).strip()[-500:]
        raise ScenarioError(f"--control: {command!r} has failed with exit code {done.returncode}: {output}")
