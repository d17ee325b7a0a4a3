"""Explores a scenario and reports what was covered and what was found; replays one schedule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.exploring.schedule_file import ScheduleFile
from broker_scenarios.exploring.search import Search, replay
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_scenarios.exploring.search import Counts, Ending
    from broker_scenarios.language.scenario import Scenario

__all__ = ["RUNS_MAX", "Exploration", "explore", "replayed_text"]

RUNS_MAX: Final = 100_000
"""The runs of one search, if the command line names no other number."""


@dataclass(slots=True, kw_only=True)
class Exploration:
    """The result of a search: what it covered, and for each way to miss an expectation the shortest schedule."""

    scenario: Scenario
    counts: Counts
    depth: int | None
    losses: int
    is_whole: bool = False
    found: dict[tuple[str, ...], list[Ending]] = field(default_factory=dict)

    @property
    def shortest(self) -> Ending | None:
        """The shortest schedule of all findings, None without one."""
        endings = [ending for each in self.found.values() for ending in each]
        return min(endings, key=lambda ending: len(ending.choices), default=None)

    @property
    def schedule(self) -> ScheduleFile | None:
        """The shortest schedule as a file."""
        shortest = self.shortest
        if shortest is None:
            return None
        return ScheduleFile(
            scenario=self.scenario.name, seed=self.scenario.seed, losses=self.losses, choices=shortest.choices
        )

    def text(self) -> str:
        """Return the report."""
        counts = self.counts
        covered = "the whole space" if self.is_whole else self._why_not_whole()
        lines = [
            f"{self.scenario.name}: {covered}",
            f"  {plural(counts.runs, 'schedule')} run, {counts.completed:,} to the end",
            f"  {plural(counts.states, 'distinct state')} at choice points, {counts.final_states:,} at the end",
            f"  {plural(counts.choice_points, 'choice point')}, at most {counts.deepest:,} in one schedule",
            f"  ended early: {counts.known:,} in a state that was reached before, {counts.asleep:,} by sleep sets",
        ]
        if not self.found:
            return "\n".join([*lines, "  nothing found: each schedule ended as the file expects", ""])
        for misses, endings in self.found.items():
            lines.append(f"  found in {plural(len(endings), 'schedule')}: {'; '.join(misses)}")
        shortest = self.shortest
        assert shortest is not None, "a finding has a schedule"
        return "\n".join([*lines, "the shortest schedule:", *_step_lines(shortest), ""])

    def _why_not_whole(self) -> str:
        if self.depth is not None and self.counts.deepest > self.depth:
            return f"the first {plural(self.depth, 'choice point')} of each schedule (--depth)"
        return f"stopped after {plural(self.counts.runs, 'schedule')} (--runs)"


def explore(
    scenario: Scenario,
    *,
    depth: int | None = None,
    losses: int = 0,
    runs_max: int = RUNS_MAX,
    progress: Callable[[int], None] | None = None,
) -> Exploration:
    """Run the schedules of a scenario, with branches at the first `depth` choice points (None: at all)."""
    search = Search(scenario, scenario.seed, depth=depth, losses=losses)
    found = Exploration(scenario=scenario, counts=search.counts, depth=depth, losses=losses)
    noted = None if progress is None else lambda counts: progress(counts.runs)
    for ending in search.endings(runs_max=runs_max, progress=noted):
        if ending.misses:
            found.found.setdefault(ending.misses, []).append(ending)
    found.is_whole = search.is_whole
    return found


def replayed_text(scenario: Scenario, schedule: ScheduleFile) -> tuple[str, bool]:
    """Run one schedule. Returns its report, and True if it ended as the file expects.

    Raises:
        ScenarioError: the schedule is one of another scenario, or cannot be followed.
    """
    if schedule.scenario != scenario.name:
        raise ScenarioError(f"scenario: the schedule is one of {schedule.scenario!r}, not of {scenario.name!r}")
    ending = replay(scenario, schedule.seed, schedule.choices, losses=schedule.losses)
    result = "; ".join(ending.misses) or "the schedule ended as the file expects"
    return "\n".join([f"{scenario.name}: {result}", *_step_lines(ending), ""]), not ending.misses


def _step_lines(ending: Ending) -> list[str]:
    """Return one line per step, up to the last one that was chosen."""
    return [
        f"  {number:>3}  {step.name}{': ' if step.message else ''}{step.message}"
        for number, step in enumerate(ending.steps[: ending.steps_chosen], 1)
    ]
