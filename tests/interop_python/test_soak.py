"""The soak in small: what takes ten minutes as documented must run at all, and see what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak import growth
from benchmarks.soak_clients import Clients
from tests.interop.served_cluster import environment

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 180


def test_a_short_soak_ends_without_problems() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "soak.py"), "--minutes", "0.15", "--seed", "3"]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "problems: none" in run.stdout


@pytest.mark.parametrize(
    ("memory", "grows"),
    [
        ([100] * 40, False),
        ([*range(60, 100, 4), *[100] * 30], False),
        ([100 + second for second in range(400)], True),
        ([100] * 300 + [112] * 100, True),
    ],
)
def test_memory_that_goes_on_growing_is_seen(memory: list[int], grows: bool) -> None:
    assert bool(growth([size << 20 for size in memory])) is grows


class Record:
    """A record as the consumer gets it."""

    def __init__(self, number: int, offset: int) -> None:
        self._number = number
        self._offset = offset

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return b"%d..." % self._number


@pytest.mark.parametrize(
    ("numbers", "problems"),
    [
        ([0, 1, 2], []),
        ([0, 2], ["partition 0, offset 1: 2 instead of 1"]),
        ([0, 1, 1], ["partition 0, offset 2: 1 instead of 2"]),
    ],
)
def test_records_that_are_missing_or_come_twice_are_seen(numbers: list[int], problems: list[str]) -> None:
    clients = Clients("nowhere:1")
    for offset, number in enumerate(numbers):
        clients._take(Record(number, offset))  # type: ignore[arg-type]
    assert clients.problems == problems
