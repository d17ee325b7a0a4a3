"""Scenarios as tests: the seeds that a marker or a `*.scenario.yaml` file states, each run and judged as one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.seed_run import run_seed
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.sweeps.seed_run import SeedResult

__all__ = ["ScenarioFile", "SeedOfScenario", "failure_text", "of_marker", "seeds_of"]

MARKER: Final = "kafka_scenario"
OPTIONS: Final[Mapping[str, int]] = {"seeds": 1, "first_seed": 0, "records": 1}
"""The options of the marker and their least values."""


class SeedOfScenario(NamedTuple):
    """One run of a scenario, or of its flip; `id` is the name of its test: `seed-3`, `flip-seed-3`."""

    scenario: Scenario
    seed: int
    id: str

    def run(self) -> SeedResult:
        """Run it on virtual time and judge it. Raises ScenarioError for a scenario that needs other targets."""
        return run_seed(self.scenario, self.seed)


def seeds_of(
    path: Path, *, seeds: int | None = None, first_seed: int | None = None, records: int | None = None
) -> list[SeedOfScenario]:
    """Return the runs of a file: without `seeds` one, of `first_seed` or the scenario's own seed.

    Raises:
        ScenarioError: the file cannot be used; the message names each mistake.
    """
    if not path.is_file():
        raise ScenarioError(f"{path}: there is no such scenario file")
    scenario = load_scenario(path)
    if records is not None:
        scenario = scenario.with_records(records)
    if seeds is None:
        numbers = range(scenario.seed, scenario.seed + 1) if first_seed is None else range(first_seed, first_seed + 1)
    else:
        begin = first_seed or 0
        numbers = range(begin, begin + seeds)
    return [
        SeedOfScenario(side, number, f"seed-{number}" if side is scenario else f"flip-seed-{number}")
        for side in scenario.sides()
        for number in numbers
    ]


def of_marker(marker: pytest.Mark, folder: Path) -> list[SeedOfScenario]:
    """Return the runs that a marker states; the file is relative to the folder of the test.

    Raises:
        ScenarioError: an argument is unknown or has a wrong value, or the file cannot be used.
    """
    if len(marker.args) != 1 or not isinstance(marker.args[0], str):
        given = ", ".join(map(repr, marker.args))
        raise ScenarioError(f"{MARKER}({given}): expected one scenario file, such as {MARKER}('lost.yaml', seeds=20)")
    for name, value in marker.kwargs.items():
        if name not in OPTIONS:
            raise ScenarioError(
                f"{MARKER}({name}=...): unknown{nearest(name, list(OPTIONS))}; expected {', '.join(OPTIONS)}"
            )
        if type(value) is not int or value < OPTIONS[name]:
            raise ScenarioError(f"{MARKER}({name}={value!r}): expected a whole number from {OPTIONS[name]}")
    return seeds_of(folder / marker.args[0], **marker.kwargs)


def failure_text(result: SeedResult) -> str:
    """Return why a run did not end as its file expects: verdict, findings, misses and the command that replays it."""
    values = result.result.values
    counts = ", ".join(f"{count:,} {name}" for name, count in values["counts"].items() if count)
    return "\n".join([f"{result.result.name}: {values['verdict']}: {counts}", *result.result.explanation])


class ScenarioFile(pytest.File):
    """A collected `*.scenario.yaml`: one item per seed, and per side of a flip."""

    seeds: int | None = None
    first_seed: int | None = None

    def collect(self) -> Iterable[pytest.Item]:
        """Read and check the file."""
        try:
            runs = seeds_of(self.path, seeds=self.seeds, first_seed=self.first_seed)
        except ScenarioError as error:
            raise self.CollectError(str(error)) from None
        return self._items(runs)

    def _items(self, runs: Iterable[SeedOfScenario]) -> Iterator[pytest.Item]:
        for run in runs:
            item: ScenarioItem = ScenarioItem.from_parent(self, name=run.id)
            item.of_scenario = run
            yield item


class ScenarioItem(pytest.Item):
    """One run of a collected scenario."""

    of_scenario: SeedOfScenario

    def runtest(self) -> None:
        """Run and judge it."""
        try:
            result = self.of_scenario.run()
        except ScenarioError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        if result.misses:
            pytest.fail(failure_text(result), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file and the name for reports."""
        return self.path, None, self.name
