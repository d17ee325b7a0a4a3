"""The engines of sweeps: processes of this machine here, Spark in `broker_scenarios.spark.sweep`."""

from __future__ import annotations

from functools import partial
from os import cpu_count
from typing import TYPE_CHECKING, Final, Protocol

from broker_scenarios.sweeps.failing_seeds import ShrunkSeed, shrink_seed
from broker_scenarios.sweeps.seed_run import SeedResult, swept_seed
from broker_scenarios.worker_processes import workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress

__all__ = ["LocalSweep", "SweepEngine", "processes_for"]

_SEEDS_PER_PROCESS_MIN: Final = 20


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
        processes = self._processes or processes_for(len(seeds))
        with workers(processes) as results:
            for done, result in enumerate(results(self._run_seed, seeds), 1):
                progress.update(done, f"seed {result.seed}")
                yield result

    def shrink(self, seeds: Sequence[int], progress: LoadProgress) -> Iterator[ShrunkSeed]:
        """Yield the smallest scenario of each seed, in the order of the seeds."""
        processes = min(self._processes or cpu_count() or 1, len(seeds))
        with workers(processes) as results:
            for done, shrunk in enumerate(results(self._shrink_seed, seeds), 1):
                progress.update(done, f"seed {shrunk.seed}")
                yield shrunk


def processes_for(seeds: int) -> int:
    """Return one process per core, or one where the start of processes would not pay off."""
    return max(1, min(cpu_count() or 1, seeds // _SEEDS_PER_PROCESS_MIN))
