"""Seeds per second of sweeps on virtual time, and what a second process adds.

    python -m benchmarks.sweep [--seeds N]

A figure is the time of `broker-sim sweep` for N seeds less that for a few, so that imports, the start of processes and
the compilation of codecs do not count. The CPU time per seed depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.result import Result, table
from tests.interop.served_cluster import environment

SCENARIOS: Final = Path(__file__).parents[1] / "scenarios"
STANDARD: Final = SCENARIOS / "catalog" / "leader-crash-any-time-acks-all.yaml"
STANDARD_RECORDS: Final = 300
SWARMS: Final = ("replication", "idempotence", "network", "transactions", "groups")
FEW_SEEDS: Final = 10
SEEDS: Final = 110
RUN_SECONDS_MAX: Final = 600
STANDARD_MIN: Final = 12.6
"""1.8 times the 7 seeds per second of commit ffd52ce."""
SWARM_MIN: Final = 60.0
TWO_PROCESSES_MIN: Final = 1.8


class Figures(NamedTuple):
    """The speed of one sweep."""

    seeds_per_s: float
    cpu_ms: float
    """User and system time of all its processes per seed."""


def run(seeds: int = SEEDS) -> list[Result]:
    """Measure the standard scenario, swarms, and two processes beside one."""
    standard = ("--records", str(STANDARD_RECORDS))
    results = [_speed("sweep of 300 records, 4 producers, 3 brokers", sweep(STANDARD, seeds, *standard), STANDARD_MIN)]
    figures = {name: sweep(SCENARIOS / "swarms" / f"{name}.yaml", seeds) for name in SWARMS}
    results += [_speed(f"sweep of the swarm {name}", each, SWARM_MIN) for name, each in figures.items()]
    one = figures[SWARMS[0]].seeds_per_s
    two = sweep(SCENARIOS / "swarms" / f"{SWARMS[0]}.yaml", 2 * seeds, processes=2).seeds_per_s
    results.append(
        Result(
            name=f"two processes, {SWARMS[0]}, against one",
            ours=f"{two:.1f} seeds/s",
            other=f"{one:.1f} seeds/s",
            figure=two / one,
            target=TWO_PROCESSES_MIN,
            at_least=True,
            unit="x",
        )
    )
    return results


def sweep(scenario: Path, seeds: int, *options: str, processes: int = 1) -> Figures:
    """Return the speed of `seeds` seeds after the first few."""
    few = _timed(scenario, FEW_SEEDS, *options, processes=processes)
    all_of_them = _timed(scenario, seeds, *options, processes=processes)
    elapsed_s, cpu_s = (more - less for more, less in zip(all_of_them, few, strict=True))
    return Figures((seeds - FEW_SEEDS) / elapsed_s, cpu_s / (seeds - FEW_SEEDS) * 1000)


def _timed(scenario: Path, seeds: int, *options: str, processes: int) -> tuple[float, float]:
    """The seconds and the CPU seconds of one command."""
    command = [sys.executable, "-m", "broker_scenarios", "sweep", str(scenario), "--seeds", str(seeds)]
    before = _cpu_of_children_s()
    started = time.perf_counter()
    subprocess.run(
        [*command, "--processes", str(processes), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=RUN_SECONDS_MAX,
        env=environment(),
    )
    return time.perf_counter() - started, _cpu_of_children_s() - before


def _cpu_of_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _speed(name: str, figures: Figures, target: float) -> Result:
    return Result(
        name=name,
        ours=f"{figures.cpu_ms:.0f} ms of CPU per seed",
        other="",
        figure=figures.seeds_per_s,
        target=target,
        at_least=True,
        unit=" seeds/s",
    )


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds of each sweep (default {SEEDS})")
    print(table(run(parser.parse_args().seeds)))


if __name__ == "__main__":
    main()
