"""One run of a scenario during a search for a smaller one: its reasons for failing, also if an error stops it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.evidence import judged
from broker_scenarios.shrinking.failure import reasons, without_numbers, wording, wording_of_stop
from broker_scenarios.sweeps.time_limit import time_limit
from broker_scenarios.verdict import Counts
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.errors import BrokerSimError
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.findings import FindingKind
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord

__all__ = ["Trial", "run_trial"]

_CALLS_PER_INSTANT: Final = 50_000
"""The limit of calls at one instant for runs that are expected to have no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run on virtual time, and why it fails."""

    reasons: tuple[str, ...]
    """Why it fails."""
    fired: int = 0
    """How often all rules fired."""
    record: RunRecord | None = None
    """None if an error has stopped the run."""
    stopped: str = ""
    """The wording of that error."""

    def wording(self, reason: str) -> str:
        """Return a reason as the run words it."""
        return self.stopped if self.record is None else wording(self.record, reason)

    @property
    def decisions(self) -> Mapping[str, Any]:
        """The values that were drawn; none of a run that was stopped: its rules draw by the seed again."""
        return {} if self.record is None else self.record.decisions

    @property
    def end_s(self) -> float:
        """When the last record had its outcome, in seconds; infinity if that is unknown."""
        return inf if self.record is None else self.record.verdict.end_us / 1e6

    @property
    def sent(self) -> int:
        """The number of records that were sent."""
        return (Counts() if self.record is None else self.record.verdict.counts).sent


def run_trial(
    scenario: Scenario,
    seed: int,
    finding: FindingKind | None = None,
    *,
    is_stopped_early: bool = False,
    limit_s: float | None = None,
) -> Trial:
    """Run and judge a seed. With `finding` it fails if it has that anomaly, permitted or not.

    With `is_stopped_early` a run that never ends at one instant is stopped after fewer calls than usual.

    Raises:
        TimeLimitExceeded: the run takes longer than `limit_s` seconds of real time.
    """
    try:
        with time_limit(limit_s):
            virtual = VirtualRun(scenario, seed)
            if is_stopped_early:
                virtual.world.reactor.calls_per_instant_limit = _CALLS_PER_INSTANT
            evidence = virtual.run(None)
            record = judged(evidence, engine=None)
    except (BrokerSimError, SimRuntimeError) as error:
        stopped = wording_of_stop(error)
        return Trial(reasons=(without_numbers(stopped),), stopped=stopped)
    fired = sum(rule.fired for rule in evidence.rules)
    return Trial(reasons=reasons(record, finding), fired=fired, record=record)
