"""The fixture `virtual_cluster`: asyncio applications as tests, one per seed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.plugin_runs import ROOT, run_pytest

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "test-an-asyncio-application.md"
FILE = re.compile(r"^```python file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_shown_application_is_tested_as_shown(tmp_path: Path) -> None:
    ((_, text),) = FILE.findall(PAGE.read_text())
    assert "3 passed" in run_pytest(tmp_path, text.replace("range(50)", "range(3)"))


PASSES = """
import asyncio, datetime, time

async def test_waiting_takes_no_time(virtual_cluster, tmp_path):
    began, day = time.time(), datetime.datetime.now(datetime.UTC)
    await asyncio.sleep(3_000)
    assert 3_000 <= time.time() - began < 3_001
    assert (datetime.datetime.now(datetime.UTC) - day).seconds == 3_000
    assert tmp_path.exists()

async def test_an_application_serves_in_the_world(virtual_cluster):
    async def greet(reader, writer):
        writer.write(b"hello")
        writer.close()
    server = await asyncio.start_server(greet, "0.0.0.0", 80)
    reader, writer = await asyncio.open_connection("application", 80)
    assert await reader.read() == b"hello"
    writer.close()
    server.close()

def test_a_function(virtual_cluster):
    virtual_cluster.kill(1)
    assert [broker.running for broker in virtual_cluster.brokers()] == [False, True, True]
"""


def test_tests_run_on_virtual_time(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, PASSES)
    assert "3 passed" in output, output


FAILS_FOR_SOME_SEEDS = """
import asyncio, random, pytest

@pytest.mark.virtual_cluster(seeds=range(4), brokers=1)
async def test_it(virtual_cluster):
    await asyncio.sleep(random.random())
    assert virtual_cluster.world.seed != 2
"""


# What pytest-asyncio does with each coroutine in its mode `auto`.
AUTO_MODE = """
import asyncio
import functools

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "asyncio")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    test = item.obj
    item.add_marker("asyncio")
    item.obj = functools.wraps(test)(lambda **arguments: asyncio.run(test(**arguments)))
"""
WAITS_AN_HOUR = """
import asyncio


async def test_it(virtual_cluster):
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await asyncio.sleep(3000)
    assert 3000 <= loop.time() - began_s < 3001
"""


def test_a_failure_names_its_seed_and_shows_the_cluster(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, FAILS_FOR_SOME_SEEDS)
    assert "1 failed, 3 passed" in output, output
    assert "FAILED test_it.py::test_it[seed-2]" in output
    assert "kafka cluster" in output


REFUSED = """
import asyncio, threading, time, pytest

@pytest.mark.virtual_cluster(range(3))
async def test_positional(virtual_cluster): pass

@pytest.mark.virtual_cluster(ports=[9092])
async def test_shape(virtual_cluster): pass
@pytest.mark.virtual_cluster(seed=3)
async def test_seed(virtual_cluster): pass

async def test_thread(virtual_cluster): threading.Thread(target=print).start()

async def test_sleep(virtual_cluster): vars(time)["sleep"](1)

async def test_forgotten(virtual_cluster):
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(1)

@pytest.mark.virtual_cluster(deadline_s=20)
async def test_hangs(virtual_cluster): await asyncio.Event().wait()

async def test_rule(virtual_cluster):
    virtual_cluster.add_rule({"name": "never", "select": {"api": "Produce"}, "act": "hold"})
"""


def test_what_cannot_run_is_refused_by_name(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, REFUSED.replace("@pytest.mark.virtual_cluster(range(3))\n", ""))
    for text in (
        "virtual_cluster(ports=[9092]): unknown",
        "a world has one thread",
        "await asyncio.sleep(1)",
        "Exception in callback",
        "virtual_cluster(seed=3): expected seeds=[3]",
        "waited 20000 ms for the end of an asyncio program; virtual_cluster(deadline_s=...) allows longer",
        "rule 'never': ",
    ):
        assert text in output, output
    assert "expected names, such as seeds=range(50)" in run_pytest(tmp_path, REFUSED)


def test_pytest_asyncio_does_not_run_it_on_the_loop_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "auto_mode.py").write_text(AUTO_MODE)
    assert "1 passed" in run_pytest(tmp_path, WAITS_AN_HOUR, "-p", "auto_mode")


def test_the_seed_of_the_command_line_is_that_of_tests_without_seeds(tmp_path: Path) -> None:
    text = "async def test_it(virtual_cluster): assert virtual_cluster.world.seed == 7\n"
    assert "1 passed" in run_pytest(tmp_path, text, "--kafka-seed=7")
