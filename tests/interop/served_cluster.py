"""`broker-sim serve` in a process of its own, as a user starts it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30
PREFIX = "BOOTSTRAP_SERVERS="


@dataclass(slots=True, kw_only=True)
class ServedCluster:
    """A running `broker-sim serve`, and what it printed."""

    bootstrap_servers: str
    process: subprocess.Popen[str]
    log: Path

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """Terminate it and return the exit status."""
        self.process.send_signal(signal_number)
        return self.process.wait(STOP_SECONDS_MAX)


@contextlib.contextmanager
def served_cluster(*arguments: str) -> Iterator[ServedCluster]:
    """Start `broker-sim serve ARGUMENTS`; at the end it must have stopped cleanly and logged no traceback."""
    with tempfile.TemporaryDirectory(prefix="broker-sim-") as folder:
        log = Path(folder) / "log"
        with log.open("w") as stderr:
            process = subprocess.Popen(
                command("serve", *arguments), stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment()
            )
        try:
            cluster = ServedCluster(bootstrap_servers=_bootstrap_servers(process, log), process=process, log=log)
            yield cluster
            if process.poll() is None:
                cluster.stop()
            logged = log.read_text()
            assert process.returncode == 0, logged
            assert "Traceback" not in logged, logged
        finally:
            process.kill()
            process.wait(STOP_SECONDS_MAX)
            if process.stdout is not None:
                process.stdout.close()


def command(*arguments: str) -> Sequence[str]:
    """The command line of `broker-sim`, whether or not its script is on PATH."""
    return [sys.executable, "-c", "import sys; from broker_scenarios.cli import main; sys.exit(main())", *arguments]


def environment() -> dict[str, str]:
    """The environment with this checkout's packages first."""
    paths = [str(ROOT), str(ROOT / "client"), str(ROOT / "scenarios"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _bootstrap_servers(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], START_SECONDS_MAX)
    line = process.stdout.readline().strip() if readable else ""
    if not line.startswith(PREFIX):
        raise RuntimeError(
            f"broker-sim serve printed {line!r} within {START_SECONDS_MAX} s, not {PREFIX}...:\n{log.read_text()}"
        )
    return line.removeprefix(PREFIX)
