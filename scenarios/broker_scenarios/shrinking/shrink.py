"""Shrinks a scenario that fails with a seed to a file that fails for the same reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import yaml

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.findings import FindingKind
from broker_scenarios.language.scenario import read_document
from broker_scenarios.shrinking.concrete import concrete_document
from broker_scenarios.shrinking.delta import Reducer
from broker_scenarios.shrinking.failure import reasons, wording
from broker_scenarios.sweeps.time_limit import time_limit
from broker_scenarios.text_forms import plural
from broker_scenarios.virtual_run import run_virtually
from broker_sim.errors import BrokerSimError
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord

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
    nothing permits, or with `finding`. Each run has `limit_s` seconds of real time. `progress` receives the number of
    runs.

    Raises:
        ScenarioError: the seed does not fail, or its run takes longer than the limit.
    """
    side, first = _failing_side(scenario, seed, finding, limit_s)
    reason = reasons(first.record, finding)[0]
    # A scenario that takes longer is no smaller one, however few records it sends.
    deadline_s = min(side.deadline_s, 1 + first.record.verdict.end_us / 1e6)
    runs, fired = 0, first.fired

    def fails(document: dict[str, Any]) -> bool:
        nonlocal runs, fired
        if is_late and _never_ends(document, start):
            return False
        runs += 1
        progress(runs)
        try:
            run = _run(replace(read_document(document, side.path, side.name), deadline_s=deadline_s), seed, limit_s)
        except (ScenarioError, BrokerSimError, SimRuntimeError):
            # It is no scenario, or the cluster refuses it: a smaller one, but not of this failure.
            return False
        # A rule with fewer conditions that fires on every retry does not make the failure simpler.
        found = reason in reasons(run.record, finding) and run.fired <= fired
        if found:
            fired = run.fired
        return found

    # What came too late, or never, comes never in a smaller scenario whose faults never end: another failure.
    is_late = reason not in _KINDS or reason == FindingKind.LIVENESS.value
    drawn = side.drawn(seed)
    start = concrete_document(drawn, seed, first.record.decisions)
    for key in _ABOUT_THE_FILE:
        start.pop(key, None)
    if finding is not None:
        start["expect"] = {finding.value: ">= 1"}
    if not fails(start):
        raise ScenarioError(
            f"{side.path}: seed {seed} fails ({wording(first.record, reason)}), but not with its draws written down"
        )
    kept = _KEPT if finding is None else (*_KEPT, "expect")
    document = Reducer(fails, trials_max=runs_max, kept=kept, counts=_COUNTS).reduce(start)
    smallest = _run(read_document(document, side.path, side.name), seed, limit_s)
    return Shrunk(
        path=side.path,
        document=document,
        reason=wording(smallest.record, reason),
        runs=runs,
        events=(_events(start), _events(document)),
        records=(first.record.verdict.counts.sent, smallest.record.verdict.counts.sent),
    )


def _never_ends(document: dict[str, Any], start: dict[str, Any]) -> bool:
    """Return True if a rule has lost its `until`."""
    rules = document.get("rules", {})
    return any(
        "until" in rule and "until" not in rules.get(name, rule) for name, rule in start.get("rules", {}).items()
    )


@dataclass(frozen=True, slots=True)
class _Run:
    record: RunRecord
    fired: int
    """How often all rules fired."""


def _failing_side(
    scenario: Scenario, seed: int, finding: FindingKind | None, limit_s: float | None
) -> tuple[Scenario, _Run]:
    runs = [(side, _run(side, seed, limit_s)) for side in scenario.sides()]
    failing = [(side, run) for side, run in runs if reasons(run.record, finding)]
    if not failing:
        raise ScenarioError(
            f"{scenario.path}: seed {seed} ends as the file expects and breaks nothing: there is nothing to shrink"
            " (broker-sim sweep names the seeds that fail, --finding looks for what is permitted)"
            if finding is None
            else f"{scenario.path}: seed {seed} has no {finding.value}"
        )
    return next(((side, run) for side, run in failing if run.record.judgement.misses), failing[0])


def _run(scenario: Scenario, seed: int, limit_s: float | None) -> _Run:
    with time_limit(limit_s):
        evidence = run_virtually(scenario, seed)
        return _Run(judged(evidence, engine=None), sum(rule.fired for rule in evidence.rules))


def _events(document: dict[str, Any]) -> int:
    """Count what happens in a run by the file's will: rules, loads and steps of scripts."""
    clients = document.get("clients", {}).values()
    loads = sum("load" in holder for holder in (document, *clients))
    return len(document.get("rules", {})) + loads + sum(len(client.get("script", ())) for client in clients)
