"""A depth-first search over the schedules of a run, by running it again from its start for each of them.

Sleep sets (Godefroid) leave out orders that differ only in independent steps. A state that was reached before is not
continued, unless it was reached with more steps asleep, or deeper, than now.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.exploring.explored_run import ExploredRun
from broker_scenarios.exploring.step import Step, independent
from broker_scenarios.exploring.world_state import WorldState
from broker_sim.errors import BrokerSimError
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from broker_scenarios.language.scenario import Scenario

__all__ = ["Counts", "Ending", "Search", "replay"]


@dataclass(slots=True)
class Counts:
    """The numbers of a search. `choice_points` are the places where a run had more than one step, each counted once."""

    runs: int = 0
    completed: int = 0
    states: int = 0
    final_states: int = 0
    choice_points: int = 0
    asleep: int = 0
    """The runs that ended early because every step was asleep."""
    known: int = 0
    """The runs that ended early in a state that was reached before."""
    deepest: int = 0
    """The most choice points of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A run that went to its end: what it missed of the file's expectations, and its schedule.

    `choices` are the names of the steps at its choice points up to the last one that is not the first possible step;
    `steps_chosen` is the number of steps up to there.
    """

    misses: tuple[str, ...]
    choices: tuple[str, ...]
    steps: tuple[Step, ...]
    steps_chosen: int


class _EndedEarly(Exception):
    """The rest of this run is known."""


@dataclass(slots=True)
class _Place:
    """A choice point on the present path: its possible steps, those that are asleep, and those that were explored."""

    steps: Sequence[Step]
    asleep: dict[str, Step]
    chosen: Step
    explored: dict[str, Step] = field(default_factory=dict)

    def next_choice(self, *, reduced: bool) -> bool:
        """Choose the next step that was not explored; False if there is none."""
        self.explored[self.chosen.name] = self.chosen
        for step in self.steps:
            if step.name not in self.explored and not (reduced and step.name in self.asleep):
                self.chosen = step
                return True
        return False


class Search:
    """Explores the schedules of a scenario. Without `reduced` it takes every order, and continues every state."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        depth: int | None = None,
        losses: int = 0,
        reduced: bool = True,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._depth = depth
        self._losses = losses
        self._reduced = reduced
        self._path: list[_Place] = []
        self._state = WorldState()
        self._reached: dict[str, list[tuple[frozenset[str], int]]] = {}
        self._final: dict[str, None] = {}
        self.counts = Counts()
        self.is_whole = True
        """False once a run had more choice points than `depth`, or the search was stopped."""

    @property
    def final_states(self) -> frozenset[str]:
        """The digests of the states in which the clients had ended."""
        return frozenset(self._final)

    def endings(self, *, runs_max: int, progress: Callable[[Counts], None] | None = None) -> Iterator[Ending]:
        """Run schedule after schedule; yield those that went to their end."""
        while True:
            if self.counts.runs >= runs_max:
                self.is_whole = False
                return
            ending = self._run()
            if progress is not None:
                progress(self.counts)
            if ending is not None:
                yield ending
            while self._path and not self._path[-1].next_choice(reduced=self._reduced):
                self._path.pop()
            if not self._path:
                return

    def _run(self) -> Ending | None:
        counts = self.counts
        counts.runs += 1
        guide = _Guide(self)
        ending = _run_to_end(self._scenario, self._seed, guide, losses=self._losses)
        counts.deepest = max(counts.deepest, guide.choice_points)
        if ending is not None:
            counts.completed += 1
        counts.states = len(self._reached)
        counts.final_states = len(self._final)
        return ending

    # Called by the guide of a run

    def place(self, number: int) -> _Place | None:
        """Return a choice point of the present path; None behind its end."""
        return self._path[number] if number < len(self._path) else None

    def new_place(self, run: ExploredRun, steps: Sequence[Step], asleep: dict[str, Step]) -> _Place | None:
        """Return the next choice point of the path; None behind the greatest depth. Raises _EndedEarly."""
        depth = len(self._path)
        if self._depth is not None and depth >= self._depth:
            self.is_whole = False
            return None
        self._note_state(run, steps, asleep, depth)
        self.counts.choice_points += 1
        awake = [step for step in steps if not (self._reduced and step.name in asleep)]
        if not awake:
            self.counts.asleep += 1
            raise _EndedEarly
        place = _Place(steps, asleep, awake[0])
        self._path.append(place)
        return place

    def is_asleep(self, step: Step, asleep: dict[str, Step]) -> bool:
        """Return True, and count it, if a run whose only step this is has nothing new."""
        if self._reduced and step.name in asleep:
            self.counts.asleep += 1
            return True
        return False

    def note_final(self, run: ExploredRun) -> None:
        """Note the state in which the clients have ended."""
        self._final[self._state.digest(run)] = None

    def _note_state(self, run: ExploredRun, steps: Sequence[Step], asleep: dict[str, Step], depth: int) -> None:
        key = self._state.digest(run, *(step.name for step in steps))
        before = self._reached.setdefault(key, [])
        names = frozenset(asleep)
        bounded = self._depth is not None
        if self._reduced and any(known <= names and (at <= depth or not bounded) for known, at in before):
            self.counts.known += 1
            raise _EndedEarly
        before.append((names, depth))


class _Guide:
    """Takes the steps of the path of a search, then at each new choice point the first step that is not asleep."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._asleep: dict[str, Step] = {}
        self.choice_points = 0
        self.choices: list[str] = []
        self.steps: list[Step] = []
        self.last_chosen = (0, 0)

    def choose(self, run: ExploredRun, steps: Sequence[Step]) -> Step:
        """Return the next step. Raises _EndedEarly where the rest is known."""
        if len(steps) == 1:
            chosen = steps[0]
            if self._search.is_asleep(chosen, self._asleep):
                raise _EndedEarly
            self._sleep(chosen, self._asleep)
        else:
            chosen = self._at_choice_point(run, steps)
        self.steps.append(chosen)
        return chosen

    def _at_choice_point(self, run: ExploredRun, steps: Sequence[Step]) -> Step:
        number = self.choice_points
        self.choice_points += 1
        place = self._search.place(number)
        if place is None:
            place = self._search.new_place(run, steps, self._asleep)
        if place is None:
            chosen = steps[0]
            self._sleep(chosen, {})
        else:
            chosen = _named(steps, place.chosen.name, number)
            self._sleep(chosen, {**place.asleep, **place.explored})
        self.choices.append(chosen.name)
        if chosen is not steps[0]:
            self.last_chosen = (len(self.choices), len(self.steps) + 1)
        return chosen

    def _sleep(self, chosen: Step, asleep: dict[str, Step]) -> None:
        """Set the steps that are asleep behind a step: they were explored before it, and it does not concern them."""
        self._asleep = {name: step for name, step in asleep.items() if independent(step, chosen)}

    def ended(self, run: ExploredRun) -> None:
        """Note the final state."""
        self._search.note_final(run)


class _Replay:
    """Takes the given choices, then at each choice point the first step."""

    def __init__(self, choices: Sequence[str]) -> None:
        self._given = choices
        self.choices: list[str] = []
        self.steps: list[Step] = []
        self.last_chosen = (0, 0)

    def choose(self, run: ExploredRun, steps: Sequence[Step]) -> Step:  # noqa: ARG002 - as every guide
        """Return the next step. Raises ScenarioError if it is not possible."""
        chosen = steps[0]
        if len(steps) > 1:
            number = len(self.choices)
            if number < len(self._given):
                chosen = _named(steps, self._given[number], number)
            self.choices.append(chosen.name)
            if chosen is not steps[0]:
                self.last_chosen = (len(self.choices), len(self.steps) + 1)
        self.steps.append(chosen)
        return chosen

    def ended(self, run: ExploredRun) -> None:
        """Do nothing."""


def replay(scenario: Scenario, seed: int, choices: Sequence[str], *, losses: int = 0) -> Ending:
    """Run one schedule.

    Raises:
        ScenarioError: a choice is not possible, or the run ends before all choices are made.
    """
    guide = _Replay(choices)
    ending = _run_to_end(scenario, seed, guide, losses=losses)
    assert ending is not None, "a replay goes to its end"
    if len(guide.choices) < len(choices):
        raise ScenarioError(f"choices: the run has {len(guide.choices)} choice points, the schedule {len(choices)}")
    return ending


def _run_to_end(scenario: Scenario, seed: int, guide: _Guide | _Replay, *, losses: int) -> Ending | None:
    """Run one schedule; returns None if the guide has ended it early."""
    run = ExploredRun(scenario, seed, guide, losses=losses)
    try:
        misses = tuple(judged(run.run(None), engine=None).judgement.misses)
    except _EndedEarly:
        run.cluster.close()
        return None
    except ScenarioError:
        raise
    except (BrokerSimError, SimRuntimeError) as error:
        misses = (f"the run was stopped: {error}",)
    choices, steps = guide.last_chosen
    return Ending(misses=misses, choices=tuple(guide.choices[:choices]), steps=tuple(guide.steps), steps_chosen=steps)


def _named(steps: Sequence[Step], name: str, number: int) -> Step:
    for step in steps:
        if step.name == name:
            return step
    possible = ", ".join(repr(step.name) for step in steps)
    raise ScenarioError(f"choices: number {number + 1}, {name!r}, is no step that is possible there: {possible}")
