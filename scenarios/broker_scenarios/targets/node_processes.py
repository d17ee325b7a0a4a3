"""The nodes of a cluster as child processes of this one: started, paused, stopped, killed."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["NodeProcesses"]

STOP_SECONDS_MAX: Final = 90
SIGNALS: Final = {
    "pause": signal.SIGSTOP,
    "unpause": signal.SIGCONT,
    "stop": signal.SIGTERM,
    "kill": signal.SIGKILL,
}


class NodeProcesses:
    """A process per node that runs. One thread may act while another looks for nodes that have ended by themselves."""

    def __init__(self) -> None:
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._ending: set[int] = set()
        """Nodes with a signal to end: they have not ended by themselves, even before that is waited for."""

    def start(self, node_id: int, command: Sequence[str], log_path: Path) -> None:
        """Start a node; what it prints is appended to its log."""
        with log_path.open("ab") as log:
            self._running[node_id] = subprocess.Popen(command, stdout=log, stderr=log)
        self._ending.discard(node_id)

    def signal(self, action: str, node_id: int) -> None:
        """Pause, unpause, stop or kill a node, and wait until it is done; nothing to a node that does not run."""
        process = self._running.get(node_id)
        if process is None:
            return
        if action not in {"stop", "kill"}:
            process.send_signal(SIGNALS[action])
            return
        self._ending.add(node_id)
        process.send_signal(SIGNALS[action])
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS_MAX)
        process.kill()
        process.wait()
        self._running.pop(node_id, None)

    def ended(self) -> list[int]:
        """Return the nodes that have ended by themselves."""
        running = list(self._running.items())
        return [each for each, process in running if each not in self._ending and process.poll() is not None]

    def kill_all(self) -> None:
        """Kill each node that runs."""
        for node_id in list(self._running):
            self.signal("kill", node_id)
