"""A sweep that keeps the draws of seeds that reach something new, and varies them in later seeds.

It runs in rounds, so that its results do not depend on the number of processes: a seed varies what the rounds before
its own have kept.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.coverage import Coverage
from broker_scenarios.errors import ScenarioError
from broker_scenarios.result_files import read_decisions, write_text
from broker_scenarios.sweeps.engine import processes_for
from broker_scenarios.sweeps.failing_seeds import shrink_seed
from broker_scenarios.sweeps.seed_run import Replayed, swept_seed
from broker_scenarios.worker_processes import workers
from sim_runtime.random_streams import RandomStreams
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.sweeps.failing_seeds import ShrunkSeed
    from broker_scenarios.sweeps.seed_run import SeedResult
    from broker_scenarios.table import LoadProgress

__all__ = ["MutatingSweep"]

_ROUND: Final = 20
"""The seeds of a round."""
_DRAWN_ANEW_MAX: Final = 3
"""How many draws of a kept seed at most a variation draws anew."""


class MutatingSweep:
    """Runs seeds in processes of this machine. From the second round on about every second seed varies a kept one.

    `folder` receives the draws of each seed that reached something new or failed, as `seed-N.json`.

    Raises:
        ScenarioError: the file has no draws, or the folder cannot be made.
    """

    def __init__(
        self, scenario: Scenario, folder: Path, *, processes: int | None = None, limit_s: float | None = None
    ) -> None:
        if scenario.draws is None:
            raise ScenarioError(f"{scenario.path}: nothing can be varied (--mutate): the file has no draws")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ScenarioError(f"cannot make {folder} (--mutate): {reason_of(error)}") from error
        self._scenario = scenario
        self._folder = folder
        self._processes = processes
        self._limit_s = limit_s
        self._coverage = Coverage(rule.name for rule in scenario.rules)
        self._kept: list[int] = []
        self._replayed: dict[int, Replayed] = {}

    def run(self, seeds: range, progress: LoadProgress) -> Iterator[SeedResult]:
        """Yield the result of each seed, in the order of the seeds."""
        run = partial(_run, self._scenario, self._limit_s)
        done = 0
        with workers(self._processes or processes_for(len(seeds))) as results:
            for start in range(0, len(seeds), _ROUND):
                for result in results(run, [(seed, self._varied(seed)) for seed in seeds[start : start + _ROUND]]):
                    done += 1
                    progress.update(done, f"seed {result.seed}")
                    self._keep(result)
                    yield result

    def shrink(self, seeds: Sequence[int], progress: LoadProgress) -> Iterator[ShrunkSeed]:
        """Yield the smallest scenario of each seed, in the order of the seeds."""
        for done, seed in enumerate(seeds, 1):
            replayed = self._replayed.get(seed)
            scenario = self._scenario if replayed is None else self._scenario.drawn(seed, replayed.decisions)
            progress.update(done, f"seed {seed}")
            yield shrink_seed(scenario, seed, limit_s=self._limit_s)

    def _varied(self, seed: int) -> Replayed | None:
        """Return the draws of a kept seed without a few, which this seed draws anew; None if it draws everything."""
        random = RandomStreams(seed).stream("mutation")
        if not self._kept or random.random() < 0.5:
            return None
        decisions = _of_any_run(read_decisions(self._file(random.choice(self._kept))))
        names = [*decisions]
        for name in random.sample(names, min(len(names), random.randint(1, _DRAWN_ANEW_MAX))):
            del decisions[name]
        self._replayed[seed] = Replayed(decisions, self._file(seed))
        return self._replayed[seed]

    def _keep(self, result: SeedResult) -> None:
        decisions: dict[str, Any] = result.result.values["decisions"]
        if result.seed in self._replayed and result.misses:
            decisions = dict(self._replayed[result.seed].decisions)
        is_new = self._coverage.add(result.seed, result.reached)
        if is_new and not result.misses:
            self._kept.append(result.seed)
        if is_new or result.misses:
            write_text(self._file(result.seed), json.dumps(decisions, indent=1) + "\n", "--mutate")

    def _file(self, seed: int) -> Path:
        return self._folder / f"seed-{seed}.json"


def _of_any_run(decisions: dict[str, Any]) -> dict[str, Any]:
    """The draws without those that fit one course of events alone: the brokers and the requests that rules chose."""
    return {
        name: {place: each for place, each in value.items() if isinstance(each, float)}
        if isinstance(value, dict)
        else value
        for name, value in decisions.items()
    }


def _run(scenario: Scenario, limit_s: float | None, job: tuple[int, Replayed | None]) -> SeedResult:
    seed, replayed = job
    return swept_seed(scenario, seed, coverage=True, limit_s=limit_s, replayed=replayed)
