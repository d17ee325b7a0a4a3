"""A cluster under real clients, random faults and bounded retention for minutes; checks memory and every record.

    python benchmarks/soak.py [--minutes 10] [--seed 1]

Three brokers run in this process. A confluent-kafka producer (idempotent, acks=all) and a consumer of all partitions
run in another one. The seed draws faults, one at a time: a broker is killed, stopped, cut off or slowed down, or all
are restarted in order. The next fault waits until the cluster is at rest. At the end every acknowledged record must
have been read once and in order, and the memory of the last quarter must equal that of the second. Exit status 1
reports a problem.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.soak_clients import PARTITIONS, TOPIC
from broker_sim.control.journal import Detail
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

BROKERS: Final = 3
CONFIG: Final = {
    "min.insync.replicas": "2",
    "log.retention.bytes": str(2 << 20),
    "log.segment.bytes": str(1 << 20),
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",  # a broker seldom runs for the default of 30 seconds here
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "300",
    "replica.lag.time.max.ms": "1500",
}
FAULT_SECONDS: Final = (1.0, 4.0)
CALM_SECONDS: Final = (0.5, 3.0)
REST_SECONDS_MAX: Final = 60
GROWTH_MAX: Final = 0.05
GROWTH_BYTES_MIN: Final = 8 << 20
"""Less growth than this is noise."""


@dataclass(slots=True, kw_only=True)
class Soak:
    """The outcome: faults by kind, memory over time, problems."""

    faults: dict[str, int] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run(*, minutes: float, seed: int) -> Soak:
    """Run the soak; the problems include those that the clients found."""
    soak = Soak()
    chance = random.Random(seed)
    with ThreadedCluster(
        brokers=BROKERS,
        topics=[f"{TOPIC}:{PARTITIONS}:{BROKERS}"],
        config=CONFIG,
        seed=seed,
        journal_detail=Detail.CLUSTER,
    ) as cluster:
        clients = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("soak_clients.py")), cluster.bootstrap_servers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            _inject_faults(cluster, soak, chance, time.monotonic() + 60 * minutes)
            output, _ = clients.communicate("end\n", timeout=2 * REST_SECONDS_MAX)
        finally:
            clients.kill()
    print(output, end="")
    if clients.returncode:
        soak.problems.append("the clients report problems")
    soak.problems += growth(soak.memory)
    return soak


def _inject_faults(cluster: ThreadedCluster, soak: Soak, chance: random.Random, end: float) -> None:
    """Inject faults until the time is over, and record the memory about every second."""
    while (left := end - time.monotonic()) > 0:
        name = chance.choice(list(FAULTS))
        broker = chance.randint(1, BROKERS)
        heal = FAULTS[name](cluster, broker)
        soak.faults[name] = soak.faults.get(name, 0) + 1
        _pass(min(left, chance.uniform(*FAULT_SECONDS)), soak)
        heal()
        rest_by = time.monotonic() + REST_SECONDS_MAX
        while pending := unsettled(cluster):
            if time.monotonic() > rest_by:
                soak.problems.append(f"after {name} of broker {broker} no rest in {REST_SECONDS_MAX} s: {pending[0]}")
                return
            _pass(0.1, soak)
        _pass(min(max(0.0, end - time.monotonic()), chance.uniform(*CALM_SECONDS)), soak)


def unsettled(cluster: ThreadedCluster) -> list[str]:
    """Return the reasons why the cluster is not at rest, except records that are still being replicated."""
    pending: list[str] = cluster.call(cluster.cluster.pending)
    return [reason for reason in pending if " ends at " not in reason and " high watermark " not in reason]


def _pass(seconds: float, soak: Soak) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(1.0, left))
        soak.memory.append(resident_bytes())


def resident_bytes() -> int:
    """Return the resident memory of this process, in which the cluster runs."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def growth(memory: list[int]) -> list[str]:
    """Return a problem if memory grew from the second quarter, when retention is at work, to the last."""
    quarter = len(memory) // 4
    if quarter < 1:
        return ["too short to judge the memory"]
    before = statistics.median(memory[quarter : 2 * quarter])
    after = statistics.median(memory[-quarter:])
    if after - before > max(GROWTH_BYTES_MIN, GROWTH_MAX * before):
        return [f"memory grew from {before / 1e6:.0f} to {after / 1e6:.0f} MB"]
    return []


def _kill(cluster: ThreadedCluster, broker: int) -> Callable[[], None]:
    cluster.kill(broker)
    return lambda: cluster.restart(broker)


def _stop(cluster: ThreadedCluster, broker: int) -> Callable[[], None]:
    cluster.stop(broker)
    return lambda: cluster.restart(broker)


def _isolate(cluster: ThreadedCluster, broker: int) -> Callable[[], None]:
    cluster.call(cluster.cluster.isolate, broker)
    return lambda: cluster.call(cluster.cluster.rejoin, broker)


def _slow(cluster: ThreadedCluster, broker: int) -> Callable[[], None]:
    def delay(milliseconds: float) -> None:
        for other in range(1, BROKERS + 1):
            if other != broker:
                cluster.cluster.links.link(broker, other).set_delay(milliseconds)

    cluster.call(delay, 50.0)
    return lambda: cluster.call(delay, 0.0)


def _roll(cluster: ThreadedCluster, broker: int) -> Callable[[], None]:  # noqa: ARG001 - restarts all brokers
    cluster.call(cluster.cluster.rolling_restart)
    return lambda: None


FAULTS: Final[dict[str, Callable[[ThreadedCluster, int], Callable[[], None]]]] = {
    "kill": _kill,
    "stop": _stop,
    "isolate": _isolate,
    "slow": _slow,
    "rolling restart": _roll,
}


def main() -> int:
    """Run the soak and print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    soak = run(minutes=options.minutes, seed=options.seed)
    print("faults:", ", ".join(f"{name} {count}" for name, count in soak.faults.items()))
    sizes = [f"{soak.memory[len(soak.memory) * part // 8] / 1e6:.0f}" for part in range(8)] if soak.memory else []
    print(f"memory: {' '.join(sizes)} {resident_bytes() / 1e6:.0f} MB")
    print("problems:", "; ".join(soak.problems) or "none")
    return 1 if soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
