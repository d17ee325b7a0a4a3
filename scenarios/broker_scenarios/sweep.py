"""One scenario on virtual time, seed after seed: how often it ends as its file expects, and the seeds that did not.

Chance enters a run by its seed alone: the load, the network, the back-offs of producers, and the times of faults for
which the file gives a range.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from os import cpu_count
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Final

from rich.console import Console
from twisted.python.runtime import seconds

from broker_scenarios.coverage import Coverage, Reached
from broker_scenarios.evidence import judged
from broker_scenarios.reproduce import reproduce_command
from broker_scenarios.result_files import ResultFiles, RunResult, run_result, stopped_result, write_text
from broker_scenarios.shrinking.shrink import RUNS_MAX, shrink
from broker_scenarios.table import load_progress
from broker_scenarios.text_forms import plural
from broker_scenarios.verdict import COUNT_NAMES, Counts
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.errors import BrokerSimError
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario

__all__ = ["SeedResult", "run_seed", "sweep", "sweep_seeds"]

_MISSES_SHOWN_MAX: Final = 10
_SEEDS_PER_PROCESS_MIN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """The result of one seed; without misses it ended as the file expects."""

    seed: int
    counts: Counts
    digest: str
    result: RunResult
    reached: tuple[tuple[str, str], ...] = ()
    """What the run has reached, by kind and name, if its coverage was requested."""

    @property
    def misses(self) -> tuple[str, ...]:
        """The expectations that the run did not meet."""
        return self.result.misses


def run_seed(scenario: Scenario, seed: int, *, coverage: bool = False) -> SeedResult:
    """Run and judge one seed; with `coverage` note what it reaches.

    A run that never ends, or that the cluster cannot go on with, is stopped: that is its result.
    """
    reproduce = reproduce_command(scenario.path, where="--virtual", seed=seed, records=_records_of(scenario))
    reached = None
    try:
        virtual = VirtualRun(scenario, seed)
        reached = Reached(virtual.cluster) if coverage else None
        run = judged(virtual.run(None), engine=None)
    except (BrokerSimError, SimRuntimeError) as error:
        stopped = stopped_result(scenario.name, seed, error, reproduce)
        pairs = () if reached is None else reached.pairs
        return SeedResult(seed=seed, counts=Counts(), digest="", result=stopped, reached=pairs)
    run.reproduce = reproduce
    return SeedResult(
        seed=seed,
        counts=run.verdict.counts,
        digest=run.facts["digest"],
        result=run_result(run),
        reached=() if reached is None else reached.pairs,
    )


def _records_of(scenario: Scenario) -> int | None:
    """Return the number of records that a run again must be given; None if the file or the seed has it."""
    return scenario.records_given if scenario.draws is not None else scenario.records or None


def sweep_seeds(
    scenario: Scenario, *, seeds: int, first_seed: int = 0, processes: int = 1, coverage: bool = False
) -> Iterator[SeedResult]:
    """Run the seeds in `processes` processes; the results come in the order of the seeds."""
    numbers = range(first_seed, first_seed + seeds)
    run = partial(run_seed, scenario, coverage=coverage)
    if processes == 1:
        yield from map(run, numbers)
        return
    # Ctrl-C ends the parent, which ends the workers; `spawn`, because a fork copies the locks of other threads.
    with ProcessPoolExecutor(processes, get_context("spawn"), signal, (SIGINT, SIG_IGN)) as pool:
        yield from pool.map(run, numbers)


def sweep(
    scenario: Scenario,
    *,
    seeds: int,
    first_seed: int = 0,
    processes: int | None = None,
    shrink_to: Path | None = None,
    coverage_to: Path | None = None,
    files: ResultFiles | None = None,
) -> int:
    """Run the seeds and print the results; returns 0 if each seed ended as the file expects, else 1.

    By default there is one process per core, and one for sweeps in which the start of processes would not pay off.
    `files` receive the results of each seed, `shrink_to` the smallest scenario of the first seed that failed,
    `coverage_to` what the seeds have reached.

    Raises:
        ScenarioError: a file cannot be written.
    """
    if processes is None:
        processes = max(1, min(cpu_count() or 1, seeds // _SEEDS_PER_PROCESS_MIN))
    started = seconds()
    results: list[SeedResult] = []
    coverage = Coverage(rule.name for rule in scenario.rules)
    with load_progress(f"{scenario.name}, seeds", seeds) as progress:
        for result in sweep_seeds(
            scenario, seeds=seeds, first_seed=first_seed, processes=processes, coverage=coverage_to is not None
        ):
            results.append(result)
            coverage.add(result.seed, result.reached)
            progress.update(len(results), f"seed {result.seed}")
    took_s = max(seconds() - started, 1e-9)
    out = Console(highlight=False, soft_wrap=True)
    missed = [result for result in results if result.misses]
    out.print(f"{scenario.name}: {len(results) - len(missed)} of {len(results)} seeds ended as expected")
    for name in COUNT_NAMES:
        counts = [result.counts.as_dict()[name] for result in results]
        most = results[counts.index(max(counts))].seed
        some = sum(count > 0 for count in counts)
        peak = f", most {max(counts):,} (seed {most})" if some else ""
        out.print(f"  {name}: {sum(counts):,} in {plural(some, 'seed')}{peak}")
    for result in missed[:_MISSES_SHOWN_MAX]:
        again = result.result.reproduce
        out.print(f"seed {result.seed}: {'; '.join(result.misses)}\n  reproduce: {again}", markup=False)
    if len(missed) > _MISSES_SHOWN_MAX:
        out.print(f"... and {plural(len(missed) - _MISSES_SHOWN_MAX, 'more seed')}")
    if coverage_to is not None:
        out.print(f"{scenario.name}, what was reached:")
        for line in coverage.lines():
            out.print(line, markup=False)
        write_text(coverage_to, coverage.to_json(), "--coverage")
    out.print(f"{len(results) / took_s:.2f} seeds per second ({took_s:.1f} s)")
    if shrink_to is not None and missed:
        with load_progress(f"{scenario.name}, shrink", RUNS_MAX) as progress:
            shrunk = shrink(scenario, missed[0].seed, progress=lambda runs: progress.update(runs, ""))
        write_text(shrink_to, shrunk.text(), "--shrink")
        out.print(f"seed {missed[0].seed}: {shrunk.summary}\n  shrunk: {shrink_to}", markup=False)
    if files is not None:
        files.write([each.result for each in results])
    return 1 if missed else 0
