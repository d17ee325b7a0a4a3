"""One scenario on virtual time, seed after seed: how often it ends as its file expects, and the seeds that did not.

Chance enters a run by its seed alone: the load, the network, the back-offs of producers, and the times of faults for
which the file gives a range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Console
from twisted.python.runtime import seconds

from broker_scenarios.coverage import Coverage
from broker_scenarios.result_files import ResultFiles, RunResult, write_text
from broker_scenarios.sweeps.failing_seeds import by_signature
from broker_scenarios.table import load_progress
from broker_scenarios.verdict import COUNT_NAMES
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.sweeps.engine import SweepEngine
    from broker_scenarios.sweeps.seed_run import SeedResult

__all__ = ["sweep"]

_MISSES_SHOWN_MAX: Final = 10
_GROUPS_MAX: Final = 10
"""The groups of failing seeds that are shown, and shrunk."""


def sweep(
    scenario: Scenario,
    engine: SweepEngine,
    seeds: range,
    *,
    shrink_to: Path | None = None,
    coverage_to: Path | None = None,
    files: ResultFiles | None = None,
) -> int:
    """Run the seeds and print the results; returns 0 if each seed ended as the file expects, else 1.

    `files` receive the results of each seed. The folder `shrink_to` receives the smallest scenario of the first seed
    of each signature, and `coverage_to` what the seeds have reached, which the engine must note.

    Raises:
        ScenarioError: a file cannot be written.
    """
    files = files or ResultFiles()
    tally = _Tally()
    kept: list[RunResult] = []
    coverage = Coverage(rule.name for rule in scenario.rules)
    started = seconds()
    with load_progress(f"{scenario.name}, seeds", len(seeds)) as progress:
        for result in engine.run(seeds, progress):
            tally.add(result)
            coverage.add(result.seed, result.reached)
            if files.requested:
                kept.append(result.result)
    took_s = max(seconds() - started, 1e-9)
    out = Console(highlight=False, soft_wrap=True)
    for line in tally.lines(scenario.name):
        out.print(line, markup=False)
    groups = by_signature(tally.missed)
    for line in _group_lines(groups):
        out.print(line, markup=False)
    if coverage_to is not None:
        out.print(f"{scenario.name}, what was reached:")
        for line in coverage.lines():
            out.print(line, markup=False)
        write_text(coverage_to, coverage.to_json(), "--coverage")
    out.print(f"{tally.seeds / took_s:.2f} seeds per second ({took_s:.1f} s)")
    if shrink_to is not None and groups:
        for line in _shrink(scenario, engine, [group[0] for group in groups.values()][:_GROUPS_MAX], shrink_to):
            out.print(line, markup=False)
    files.write(kept)
    return 1 if tally.missed else 0


class _Tally:
    """The counts of a sweep; of the results it keeps those that failed."""

    def __init__(self) -> None:
        self.seeds = 0
        self.missed: list[SeedResult] = []
        self._sums = dict.fromkeys(COUNT_NAMES, 0)
        self._some = dict.fromkeys(COUNT_NAMES, 0)
        """In how many seeds the count is not zero."""
        self._most = dict.fromkeys(COUNT_NAMES, (0, 0))
        """The largest count, and the first seed that has it."""

    def add(self, result: SeedResult) -> None:
        self.seeds += 1
        if result.misses:
            self.missed.append(result)
        counts = result.counts.as_dict()
        for name in COUNT_NAMES:
            self._sums[name] += counts[name]
            self._some[name] += counts[name] > 0
            if counts[name] > self._most[name][0]:
                self._most[name] = counts[name], result.seed

    def lines(self, name: str) -> Iterator[str]:
        """The sums, and the first seeds that failed, each with the command that runs it again."""
        yield f"{name}: {self.seeds - len(self.missed)} of {self.seeds} seeds ended as expected"
        for count in COUNT_NAMES:
            most, seed = self._most[count]
            peak = f", most {most:,} (seed {seed})" if most else ""
            yield f"  {count}: {self._sums[count]:,} in {plural(self._some[count], 'seed')}{peak}"
        for result in self.missed[:_MISSES_SHOWN_MAX]:
            yield f"seed {result.seed}: {'; '.join(result.misses)}\n  reproduce: {result.result.reproduce}"
        if len(self.missed) > _MISSES_SHOWN_MAX:
            yield f"... and {plural(len(self.missed) - _MISSES_SHOWN_MAX, 'more seed')}"


def _group_lines(groups: Mapping[str, Sequence[int]]) -> Iterator[str]:
    for signature, group in [*groups.items()][:_GROUPS_MAX]:
        yield f"{plural(len(group), 'seed')} from {group[0]} on: {signature}"
    if len(groups) > _GROUPS_MAX:
        yield f"... and {plural(len(groups) - _GROUPS_MAX, 'other failure')}"


def _shrink(scenario: Scenario, engine: SweepEngine, seeds: Sequence[int], folder: Path) -> Iterator[str]:
    """Write the smallest scenario of each seed to the folder, and yield a line about each."""
    with load_progress(f"{scenario.name}, shrink", len(seeds)) as progress:
        shrunk = [*engine.shrink(seeds, progress)]
    for each in shrunk:
        yield f"seed {each.seed}: {each.summary}"
        if each.text is not None:
            path = folder / f"{scenario.name}-seed-{each.seed}.yaml"
            write_text(path, each.text, "--shrink")
            yield f"  shrunk: {path}"
