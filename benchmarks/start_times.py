"""The start time of a cluster: `broker-sim serve` from the shell, `Cluster(3)` inside a process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.result import Result, table
from tests.interop.served_cluster import environment, served_cluster

SERVE_SECONDS_MAX = 0.5
CLUSTER_MS_MAX = 30.0
RUN_SECONDS_MAX = 60
IN_PROCESS = """
import statistics, time
from broker_sim.cluster import Cluster
from sim_runtime.random_streams import RandomStreams
from sim_runtime.real_reactor import new_reactor
reactor = new_reactor()
figures = []
for _ in range({starts}):
    started = time.perf_counter()
    cluster = Cluster(reactor=reactor, streams=RandomStreams(0), brokers=3)
    cluster.start()
    figures.append(time.perf_counter() - started)
    cluster.close()
print(statistics.median(figures))
"""


def run(starts: int) -> list[Result]:
    """Measure both, `starts` times each; the figures are medians."""
    return [serve(starts), cluster(starts)]


def serve(starts: int) -> Result:
    """Measure from the start of the process to the line with the bootstrap servers."""
    figures = []
    for _ in range(starts):
        started = time.perf_counter()
        with served_cluster("--brokers", "3", "--port", "0", "--topic", "orders:6:3"):
            figures.append(time.perf_counter() - started)
    seconds = statistics.median(figures)
    return Result.at_most(
        "broker-sim serve --brokers 3, ready from the shell", seconds, SERVE_SECONDS_MAX, " s", decimals=2
    )


def cluster(starts: int) -> Result:
    """Measure in one process after all imports: the time that a cluster of its own adds to a test."""
    program = IN_PROCESS.format(starts=starts)
    run = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=RUN_SECONDS_MAX,
        env=environment(),
    )
    figure = 1000 * float(run.stdout)
    return Result.at_most("Cluster(3) in process", figure, CLUSTER_MS_MAX, " ms", decimals=1)


if __name__ == "__main__":
    print(table(run(starts=9)))
