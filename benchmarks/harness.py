"""The overhead of the test harness: fixtures, a rule over HTTP, an open live page, a thousand small tests."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final
from urllib.request import Request, urlopen

from benchmarks.result import Result, table
from broker_client import Producer
from tests.interop.served_cluster import environment, served_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.served_cluster import ServedCluster

FIXTURE_MS_MAX: Final = 7.7
"""What a cluster per test may add: 5 ms beyond the 2.7 ms that a start took before the harness had its fixtures."""
RULE_MS_MAX: Final = 5.0
PAGE_SHARE_MIN: Final = 0.95
TESTS: Final = 1000
TESTS_SECONDS_MAX: Final = 60
WORKERS: Final = 6
"""More than cores: a consumer that joins a group waits on timers of its own most of the time."""
RUN_SECONDS_MAX: Final = 300
CONTROL: Final = "CONTROL_URL="
RECORDS: Final = 400_000
POLL_PATHS: Final = ("", "/brokers", "/topics", "/rules", "/groups", "/transactions", "/connections", "/metrics")
"""The requests that a live page sends each second, beside its stream of events."""
EMPTY_TESTS: Final = """
import pytest

@pytest.mark.parametrize("number", range(100))
def test_with(number, kafka_cluster):
    assert kafka_cluster.bootstrap_servers

@pytest.mark.parametrize("number", range(100))
def test_without(number):
    pass
"""
DURATIONS: Final = """
def pytest_runtest_logreport(report):
    with open("durations.txt", "a") as file:
        print(report.nodeid, report.duration, file=file)
"""
ROUND_TRIPS: Final = """
import pytest
from confluent_kafka import Consumer, Producer

@pytest.mark.parametrize("number", range({tests}))
@pytest.mark.kafka_cluster(brokers=1, topics=["orders:1:1"])
def test_a_record_is_read(number, kafka_cluster):
    servers = {{"bootstrap.servers": kafka_cluster.bootstrap_servers}}
    producer = Producer(servers)
    producer.produce("orders", b"v")
    assert producer.flush(10) == 0
    consumer = Consumer({{**servers, "group.id": "g", "auto.offset.reset": "earliest"}})
    consumer.subscribe(["orders"])
    assert consumer.poll(10).value() == b"v"
    consumer.close()
"""


def run(pairs: int) -> list[Result]:
    """Measure all four; `pairs` runs with and without an open page."""
    return [fixture(), rule_over_http(), open_page(pairs), thousand_tests()]


def fixture() -> Result:
    """Measure the median set-up and tear-down of `kafka_cluster` with three brokers."""
    with tempfile.TemporaryDirectory() as folder:
        # A report has milliseconds only.
        (Path(folder) / "conftest.py").write_text(DURATIONS)
        run_pytest(folder, EMPTY_TESTS)
        lines = (Path(folder) / "durations.txt").read_text().splitlines()
    seconds: dict[str, float] = {}
    for test, duration in (line.rsplit(maxsplit=1) for line in lines if "test_with[" in line):
        seconds[test] = seconds.get(test, 0.0) + float(duration)
    figure = 1000 * statistics.median(seconds.values())
    return Result.at_most("kafka_cluster, per test", figure, FIXTURE_MS_MAX, " ms", decimals=1)


def rule_over_http() -> Result:
    """Measure the median time to add a rule, each on a connection of its own."""
    with served_cluster("--topic", "orders:1:1", "--control", "127.0.0.1:0") as server:
        figures = []
        url = f"{control_url(server)}/clusters/default/rules"
        for number in range(200):
            rule = {"name": f"rule-{number}", "select": {"api": "Heartbeat"}, "act": "hold", "optional": True}
            request = Request(url, json.dumps(rule).encode(), method="POST")
            started = time.perf_counter()
            with urlopen(request, timeout=RUN_SECONDS_MAX) as response:
                response.read()
            figures.append(time.perf_counter() - started)
    figure = 1000 * statistics.median(figures)
    return Result.at_most("adding a rule over HTTP", figure, RULE_MS_MAX, " ms", decimals=2)


def open_page(pairs: int) -> Result:
    """Measure records per second of one producer, beside the requests of an open page and without them, in turns."""
    shares = []
    with served_cluster("--topic", "orders:1:1", "--control", "127.0.0.1:0") as server:
        url = control_url(server)
        records_per_second(server.bootstrap_servers)
        for _ in range(pairs):
            alone = records_per_second(server.bootstrap_servers)
            with page_requests(url):
                shares.append(records_per_second(server.bootstrap_servers) / alone)
    figure = statistics.median(shares)
    return Result(
        name="throughput beside an open live page",
        ours=f"{figure:.2f}x",
        other="1x without",
        figure=figure,
        target=PAGE_SHARE_MIN,
        at_least=True,
        unit="x",
    )


def control_url(server: ServedCluster) -> str:
    """Return the address of the HTTP control, which `serve` prints below its brokers."""
    assert server.process.stdout is not None
    for line in server.process.stdout:
        if line.startswith(CONTROL):
            return line.removeprefix(CONTROL).strip()
    raise RuntimeError(f"broker-sim serve printed no {CONTROL}")


def records_per_second(bootstrap_servers: str) -> float:
    """Send RECORDS records of 100 bytes, and wait for their acknowledgements."""
    with Producer(bootstrap_servers=bootstrap_servers, linger_ms=5) as producer:
        producer.send("orders", b"warm").result(RUN_SECONDS_MAX)
        started = time.perf_counter()
        for _ in range(RECORDS):
            producer.send("orders", bytes(100))
        producer.flush(RUN_SECONDS_MAX)
        return RECORDS / (time.perf_counter() - started)


@contextmanager
def page_requests(control_url: str) -> Iterator[None]:
    """Send the requests of an open live page until the block ends."""
    base = f"{control_url}/clusters/default"
    ended = False

    def poll() -> None:
        while not ended:
            due = time.monotonic() + 1
            for path in POLL_PATHS:
                with urlopen(base + path, timeout=RUN_SECONDS_MAX) as response:
                    response.read()
            time.sleep(max(0, due - time.monotonic()))

    with urlopen(f"{base}/events/stream?after=0&detail=cluster", timeout=RUN_SECONDS_MAX):
        thread = Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            ended = True
            thread.join()


def thousand_tests() -> Result:
    """Measure TESTS tests of one produce and one consume each, with a cluster per test, on WORKERS workers of xdist."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run_pytest(folder, ROUND_TRIPS.format(tests=TESTS), "-n", str(WORKERS))
        figure = time.perf_counter() - started
    return Result.at_most(
        f"{TESTS:,} tests of one produce and one consume", figure, TESTS_SECONDS_MAX, " s", decimals=0
    )


def run_pytest(folder: str, text: str, *options: str) -> None:
    """Run a test file in a folder of its own. Raises CalledProcessError if a test fails."""
    path = Path(folder) / "test_it.py"
    path.write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, *options, str(path)]
    subprocess.run(command, cwd=folder, env=environment(), check=True, timeout=RUN_SECONDS_MAX, stdout=subprocess.PIPE)


if __name__ == "__main__":
    print(table(run(pairs=5)))
