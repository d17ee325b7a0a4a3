"""Processes of nodes: what a signal has ended has not ended by itself."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.targets.node_processes import NodeProcesses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNS = ["sleep", "600"]
ENDS = [sys.executable, "-c", "print('down')"]


@pytest.fixture
def processes() -> Iterator[NodeProcesses]:
    processes = NodeProcesses()
    yield processes
    processes.kill_all()


@pytest.mark.parametrize("action", ["stop", "kill"])
def test_a_node_that_a_signal_has_ended_has_not_ended_by_itself(
    processes: NodeProcesses, action: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another thread looks between the end of the process and the return of the wait for it."""
    processes.start(1, RUNS, tmp_path / "1.log")
    wait, seen = subprocess.Popen.wait, []

    def looked(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        status = wait(process, timeout)
        seen.append((status < 0, processes.ended()))
        return status

    monkeypatch.setattr(subprocess.Popen, "wait", looked)
    processes.signal(action, 1)
    assert seen[0] == (True, [])
    assert processes.ended() == []


def test_a_node_that_ends_by_itself_shows_also_after_an_earlier_signal(
    processes: NodeProcesses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    processes.start(1, RUNS, tmp_path / "1.log")
    processes.signal("kill", 1)
    processes.start(1, ENDS, tmp_path / "1.log")
    processes.start(2, RUNS, tmp_path / "2.log")
    processes._running[1].wait(60)
    assert processes.ended() == [1]
    assert (tmp_path / "1.log").read_text().endswith("down\n")


def test_a_signal_to_a_node_that_does_not_run_does_nothing(processes: NodeProcesses, tmp_path: Path) -> None:
    for action in ("pause", "unpause", "stop", "kill"):
        processes.signal(action, 1)
    assert processes.ended() == []
