"""The engines of sweeps: processes of this machine here, Spark in `broker_scenarios.spark.sweep`."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from os import cpu_count
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from broker_scenarios.sweeps.failing_seeds import ShrunkSeed, shrink_seed
from broker_scenarios.sweeps.garbage import collect_rarely, rare_collections
from broker_scenarios.sweeps.seed_run import SeedResult, swept_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress

__all__ = ["LocalSweep", "SweepEngine"]

_SEEDS_PER_PROCESS_MIN: Final = 20

R = TypeVar("R")


class SweepEngine(Protocol):
    """Runs seeds of one scenario."""

    def run(self, seeds: range, progress: LoadProgress) -> Iterator[SeedResult]:
        """Yield the result of each seed, in the order of the seeds."""
        ...

    def shrink(self, seeds: Sequence[int], progress: LoadProgress) -> Iterator[ShrunkSeed]:
        """Yield the smallest scenario of each seed, in the order of the seeds."""
        ...


class LocalSweep:
    """Runs seeds in processes of this machine; with one process, in this one.

    `processes` None is one per core, and one for sweeps in which the start of processes would not pay off.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        processes: int | None = None,
        coverage: bool = False,
        limit_s: float | None = None,
    ) -> None:
        self._processes = processes
        self._run_seed = partial(swept_seed, scenario, coverage=coverage, limit_s=limit_s)
        self._shrink_seed = partial(shrink_seed, scenario, limit_s=limit_s)

    def run(self, seeds: range, progress: LoadProgress) -> Iterator[SeedResult]:
        """Yield the result of each seed, in the order of the seeds."""
        processes = self._processes or max(1, min(cpu_count() or 1, len(seeds) // _SEEDS_PER_PROCESS_MIN))
        for done, result in enumerate(_results(self._run_seed, seeds, processes), 1):
            progress.update(done, f"seed {result.seed}")
            yield result

    def shrink(self, seeds: Sequence[int], progress: LoadProgress) -> Iterator[ShrunkSeed]:
        """Yield the smallest scenario of each seed, in the order of the seeds."""
        processes = min(self._processes or cpu_count() or 1, len(seeds))
        for done, shrunk in enumerate(_results(self._shrink_seed, seeds, processes), 1):
            progress.update(done, f"seed {shrunk.seed}")
            yield shrunk


def _results(run: Callable[[int], R], seeds: Sequence[int], processes: int) -> Iterator[R]:
    if processes == 1:
        with rare_collections():
            yield from map(run, seeds)
        return
    # `spawn`, because a fork copies the locks of other threads.
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin_worker) as pool:
        yield from pool.map(run, seeds)


def _begin_worker() -> None:
    """Prepare a process of the pool. Ctrl-C ends the parent, which ends it."""
    signal(SIGINT, SIG_IGN)
    collect_rarely()
