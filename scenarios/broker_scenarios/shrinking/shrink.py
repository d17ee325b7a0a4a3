"""Shrinks a scenario that fails with a seed to a file that fails for the same reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import yaml

from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import FindingKind
from broker_scenarios.language.planting import unplanted
from broker_scenarios.language.scenario import read_document
from broker_scenarios.shrinking.concrete import concrete_document
from broker_scenarios.shrinking.delta import Reducer
from broker_scenarios.shrinking.shortfall import faultless, idle
from broker_scenarios.shrinking.trial import Trial, run_trial
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario

__all__ = ["RUNS_MAX", "Shrunk", "shrink"]

RUNS_MAX: Final = 600
"""The runs of one search, if the command line names no other number."""
_KEPT: Final = ("title", "seed", "release", "deadline_s")
"""Keys that no search changes: the seed is the run's, and a deadline is no part of a failure."""
_COUNTS: Final = (
    "brokers",
    "controllers",
    "partitions",
    "replication_factor",
    "count",
    "records",
    "producers",
    "send",
    "times",
    "nth",
)
"""Keys of numbers that are lowered: of things and of what happens. A shorter time-out makes no smaller scenario."""
_ABOUT_THE_FILE: Final = ("claim", "only_simulated", "only_virtual")
"""Keys that speak of the file that was shrunk."""
_NO_ANOMALY: Final = "verdict valid, "
"""How the reason begins with which an expected anomaly is missed: a load without a fault misses it too."""
_KINDS: Final = frozenset(kind.value for kind in FindingKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A shrunk scenario: its document, and what the search did."""

    path: Path
    document: dict[str, Any]
    reason: str
    runs: int
    events: tuple[int, int]
    """The number of rules, steps of scripts and loads, before and after."""
    records: tuple[int, int]
    """The number of records that were sent, before and after."""

    @property
    def summary(self) -> str:
        """One line: `300 records, 3 events -> 2 records, 2 events, in 83 runs: lost-write`."""
        before, after = (
            f"{plural(records, 'record')}, {plural(events, 'event')}"
            for records, events in zip(self.records, self.events, strict=True)
        )
        return f"{before} -> {after}, in {plural(self.runs, 'run')}: {self.reason}"

    def text(self) -> str:
        """The scenario file."""
        body = yaml.safe_dump(self.document, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
        return f"# Shrunk from {self.path.name}, seed {self.document['seed']}.\n# {self.summary}\n{body}"


def shrink(
    scenario: Scenario,
    seed: int,
    *,
    finding: FindingKind | None = None,
    runs_max: int = RUNS_MAX,
    limit_s: float | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Shrunk:
    """Return the smallest scenario that was found in at most `runs_max` runs on virtual time.

    The first side of the file that misses an expectation is shrunk; if none does, the first with an anomaly that
    nothing permits, or with `finding`. A scenario with a planted defect stays one that ends as it expects without the
    defect. Each run has `limit_s` seconds of real time. `progress` receives the number of runs.

    A smaller scenario that misses something which must happen meets it without its rules and defects: else the smallest
    one would be empty.

    Raises:
        ScenarioError: the seed does not fail, it fails without the planted defect too, it misses something which does
            not happen without its rules either, or its run takes longer than the limit.
    """
    side, first = _failing_side(scenario, seed, finding, limit_s)
    start = concrete_document(side.drawn(seed), seed, first.decisions)
    for key in _ABOUT_THE_FILE:
        start.pop(key, None)
    if finding is not None:
        start["expect"] = {finding.value: ">= 1"}
    search = _Search(
        side=side, seed=seed, finding=finding, first=first, start=start, limit_s=limit_s, progress=progress
    )
    search.choose_reason()
    if not search.fails(start):
        raise ScenarioError(
            f"{side.path}: seed {seed} fails ({first.wording(search.reason)}), but not with its draws written down"
            + ("" if side.planted is None else f", or it fails without the defect {side.planted} too")
        )
    kept = _KEPT if finding is None else (*_KEPT, "expect")
    document = Reducer(search.fails, trials_max=runs_max, kept=kept, counts=_COUNTS).reduce(start)
    smallest = run_trial(read_document(document, side.path, side.name), seed, finding, limit_s=limit_s)
    return Shrunk(
        path=side.path,
        document=document,
        reason=smallest.wording(search.reason),
        runs=search.runs,
        events=(_events(start), _events(document)),
        records=(first.sent, smallest.sent),
    )


class _Search:
    """Decides whether a smaller scenario fails as the first run did."""

    def __init__(
        self,
        *,
        side: Scenario,
        seed: int,
        finding: FindingKind | None,
        first: Trial,
        start: dict[str, Any],
        limit_s: float | None,
        progress: Callable[[int], None],
    ) -> None:
        self.runs = 0
        self.reason = first.reasons[0]
        self._first = first
        self._side = side
        self._start = start
        # A scenario that takes longer is no smaller one, however few records it sends.
        self._deadline_s = min(side.deadline_s, 1 + first.end_s)
        self._fired = first.fired
        self._is_shortfall = False
        self._run_trial = partial(
            run_trial, seed=seed, finding=finding, is_stopped_early=first.record is None, limit_s=limit_s
        )
        self._progress = progress

    @property
    def _is_late(self) -> bool:
        """True if it came too late or never: where a fault never ends it never comes, which is another failure."""
        return self.reason not in _KINDS or self.reason == FindingKind.LIVENESS.value

    def choose_reason(self) -> None:
        """Choose the first reason that an idle scenario lacks, else the first that the faults of the file cause.

        An expectation of at least so many is missed by an idle scenario too. With a planted defect the first reason is
        kept: the scenario without the defect must end as it expects.

        Raises:
            ScenarioError: the faults of the file cause none of the reasons, or those are rules that never fired.
        """
        if self._side.planted is not None or self.reason in _KINDS or self._first.record is None:
            return
        missed_idle = self._reasons(idle(self._start))
        lasting = [
            reason for reason in self._first.reasons if reason not in missed_idle and not reason.startswith(_NO_ANOMALY)
        ]
        if lasting:
            self.reason = lasting[0]
            return
        unfired = tuple(f"rule {name!r} never fired" for name in self._start.get("rules", {}))
        missed_anyway = self._reasons(faultless(self._start))
        caused = [
            reason for reason in self._first.reasons if reason not in missed_anyway and not reason.startswith(unfired)
        ]
        if not caused:
            raise ScenarioError(
                f"{self._side.path}: seed {self._start['seed']} fails ({self._first.wording(self.reason)}), but no rule"
                " and no defect of the file causes it: it fails without its load too, so its smallest scenario is empty"
            )
        self.reason, self._is_shortfall = caused[0], True

    def fails(self, document: dict[str, Any]) -> bool:
        """Return True if it fails for the reason; with a planted defect, because of the defect."""
        if self._is_late and _never_ends(document, self._start):
            return False
        run = self._run(document)
        # A rule with fewer conditions that fires on every retry does not make the failure simpler.
        if run is None or self.reason not in run.reasons or run.fired > self._fired:
            return False
        if self._side.planted is not None:
            clean = self._run(unplanted(document, self._side.planted))
            if clean is None or clean.reasons:
                return False
        if self._is_shortfall and self.reason in self._reasons(faultless(document), otherwise=(self.reason,)):
            return False
        self._fired = run.fired
        return True

    def _reasons(self, document: dict[str, Any], otherwise: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the reasons of a document; `otherwise` if it is no scenario, or takes too long."""
        run = self._run(document)
        return otherwise if run is None else run.reasons

    def _run(self, document: dict[str, Any]) -> Trial | None:
        """Run a document; None if it is no scenario, or takes too long."""
        self.runs += 1
        self._progress(self.runs)
        try:
            smaller = read_document(document, self._side.path, self._side.name)
            return self._run_trial(replace(smaller, deadline_s=self._deadline_s))
        except ScenarioError:
            return None


def _never_ends(document: dict[str, Any], start: dict[str, Any]) -> bool:
    """Return True if a rule has lost its `until`."""
    rules = document.get("rules", {})
    return any(
        "until" in rule and "until" not in rules.get(name, rule) for name, rule in start.get("rules", {}).items()
    )


def _failing_side(
    scenario: Scenario, seed: int, finding: FindingKind | None, limit_s: float | None
) -> tuple[Scenario, Trial]:
    runs = [(side, run_trial(side, seed, finding, limit_s=limit_s)) for side in scenario.sides()]
    failing = [(side, run) for side, run in runs if run.reasons]
    if not failing:
        raise ScenarioError(
            f"{scenario.path}: seed {seed} ends as the file expects and breaks nothing: there is nothing to shrink"
            " (broker-sim sweep names the seeds that fail, --finding looks for what is permitted)"
            if finding is None
            else f"{scenario.path}: seed {seed} has no {finding.value}"
        )
    return next(((side, run) for side, run in failing if run.record is None or run.record.judgement.misses), failing[0])


def _events(document: dict[str, Any]) -> int:
    """Count what happens in a run by the file's will: rules, loads and steps of scripts, those of a `repeat` each."""
    clients = document.get("clients", {}).values()
    loads = sum("load" in holder for holder in (document, *clients))
    return len(document.get("rules", {})) + loads + sum(_steps(client.get("script", ())) for client in clients)


def _steps(script: Sequence[Any]) -> int:
    repeated = [step["repeat"]["steps"] for step in script if isinstance(step, dict) and "repeat" in step]
    return len(script) - len(repeated) + sum(map(_steps, repeated))
