"""`broker-sim determinism`: equal runs, and the first event of runs that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from tests.interop_python.test_drivers import HEAD, READS_AND_WRITES
from tests.plugin_runs import PLUGINS

if TYPE_CHECKING:
    from pathlib import Path

LEAKS = """
import asyncio
from aiokafka import AIOKafkaProducer

async def test_leaks(virtual_cluster):
    async with AIOKafkaProducer(bootstrap_servers=virtual_cluster.bootstrap_servers) as producer:
        for name in {"a", "b", "c", "d", "e", "f", "g", "h"}:
            await producer.send_and_wait("orders", name.encode())

async def test_is_equal(virtual_cluster):
    async with AIOKafkaProducer(bootstrap_servers=virtual_cluster.bootstrap_servers) as producer:
        for name in set("abcdefgh"):
            await producer.send_and_wait("orders", name.encode())

def test_is_no_coroutine():
    pass
"""


def test_a_scenario_is_the_same_in_two_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(HEAD + READS_AND_WRITES.replace("DRIVER", "aiokafka"))
    assert main(["determinism", str(path), "--seed", "5", "--records", "10"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("case, seed 5: the same run under PYTHONHASHSEED 0 and 31337: ")


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", ",".join(PLUGINS))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    path = tmp_path / "test_it.py"
    path.write_text(LEAKS)
    return path


def test_the_first_event_that_differs_is_named(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["determinism", f"{tests}::test_leaks"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "the runs differ from event " in lines[0]
    assert lines[1].startswith('  the last equal event: {"sequence":')
    assert lines[2].startswith('  PYTHONHASHSEED=0: {"sequence":')
    assert lines[3].startswith('  PYTHONHASHSEED=31337: {"sequence":')
    assert lines[2] != lines[3]


def test_a_test_is_the_same_in_two_processes(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["determinism", f"{tests}::test_is_equal"]) == 0
    assert "the same run" in capsys.readouterr().out


def test_what_records_nothing_is_an_error(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["determinism", f"{tests}::test_is_no_coroutine"]) == 2
    assert "no run was recorded: 1 passed" in capsys.readouterr().err
    assert main(["determinism", f"{tests}::test_is_equal", "--seed", "3"]) == 2
    assert "a test has its seed in its name" in capsys.readouterr().err
    assert main(["determinism", "nowhere.yaml"]) == 2
