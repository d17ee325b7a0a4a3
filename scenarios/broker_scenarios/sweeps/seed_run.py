"""One seed of a sweep: run, judged, and stopped if it never ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.coverage import Reached
from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.garbage import collect_run
from broker_scenarios.reproduce import reproduce_command
from broker_scenarios.result_files import RunResult, run_result, stopped_result
from broker_scenarios.shrinking.failure import reasons, without_numbers
from broker_scenarios.sweeps.time_limit import TimeLimitExceeded, time_limit
from broker_scenarios.verdict import Counts
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.errors import BrokerSimError
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario

__all__ = ["SEED_LIMIT_S", "Replayed", "SeedResult", "run_seed", "swept_seed"]

SEED_LIMIT_S: Final = 300
"""The limit of real time for one seed of a sweep, if the command line names no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """The result of one seed; without misses it ended as the file expects."""

    seed: int
    counts: Counts
    digest: str
    result: RunResult
    signature: str = ""
    """Why the seed failed, the same text for seeds that fail alike; empty without misses."""
    reached: tuple[tuple[str, str], ...] = ()
    """What the run has reached, by kind and name, if its coverage was requested."""

    @property
    def misses(self) -> tuple[str, ...]:
        """The expectations that the run did not meet."""
        return self.result.misses


@dataclass(frozen=True, slots=True)
class Replayed:
    """Draws of another run that a seed replays; it draws the others itself."""

    decisions: Mapping[str, Any]
    file: Path
    """The file that has them, for the command that runs the seed again."""


def run_seed(
    scenario: Scenario,
    seed: int,
    *,
    coverage: bool = False,
    limit_s: float | None = None,
    replayed: Replayed | None = None,
) -> SeedResult:
    """Run and judge one seed; with `coverage` note what it reaches.

    A run that never ends, that takes longer than `limit_s` seconds of real time, or that the cluster cannot go on
    with, is stopped: that is its result. A limit works in the main thread of a process alone.
    """
    reached = None
    try:
        with time_limit(limit_s):
            drawn = scenario if replayed is None else scenario.drawn(seed, replayed.decisions)
            virtual = VirtualRun(drawn, seed)
            reached = Reached(virtual.cluster) if coverage else None
            run = judged(virtual.run(None), engine=None)
    except (BrokerSimError, SimRuntimeError, TimeLimitExceeded) as error:
        return _stopped(scenario, seed, error, reached, replayed)
    run.reproduce = _reproduce(scenario, seed, replayed)
    return SeedResult(
        seed=seed,
        counts=run.verdict.counts,
        digest=run.facts["digest"],
        result=run_result(run),
        signature="" if run.judgement.met else reasons(run)[0],
        reached=() if reached is None else reached.pairs,
    )


def swept_seed(
    scenario: Scenario, seed: int, *, coverage: bool, limit_s: float | None, replayed: Replayed | None = None
) -> SeedResult:
    """Run one of many seeds: an error of the simulator itself is the result of its seed, and does not end the sweep.

    Raises:
        ScenarioError: the scenario cannot run on virtual time.
    """
    try:
        return run_seed(scenario, seed, coverage=coverage, limit_s=limit_s, replayed=replayed)
    except ScenarioError:
        raise
    except Exception as error:  # noqa: BLE001 - any error of the simulator is a defect that the sweep has found
        return _stopped(scenario, seed, f"{type(error).__name__}: {error}", None, replayed)
    finally:
        collect_run()


def _stopped(
    scenario: Scenario, seed: int, error: Exception | str, reached: Reached | None, replayed: Replayed | None
) -> SeedResult:
    stopped = stopped_result(scenario.name, seed, error, _reproduce(scenario, seed, replayed))
    return SeedResult(
        seed=seed,
        counts=Counts(),
        digest="",
        result=stopped,
        signature=without_numbers(stopped.misses[0]),
        reached=() if reached is None else reached.pairs,
    )


def _reproduce(scenario: Scenario, seed: int, replayed: Replayed | None) -> str:
    decisions = None if replayed is None else replayed.file
    return reproduce_command(scenario, where="--virtual", seed=seed, records=_records_of(scenario), decisions=decisions)


def _records_of(scenario: Scenario) -> int | None:
    """Return the number of records that a run again must be given; None if the file or the seed has it."""
    return scenario.records_given if scenario.draws is not None else scenario.records or None
