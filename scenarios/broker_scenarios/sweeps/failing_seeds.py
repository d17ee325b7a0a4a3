"""The seeds of a sweep that fail, grouped by the reason for it; one of each group is shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_scenarios.errors import ScenarioError
from broker_scenarios.shrinking.shrink import shrink
from broker_sim.errors import BrokerSimError
from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.sweeps.seed_run import SeedResult

__all__ = ["ShrunkSeed", "by_signature", "shrink_seed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkSeed:
    """The smallest scenario that was found for a seed; small enough to pass between processes."""

    seed: int
    summary: str
    """One line about the search, or why there is no smaller scenario."""
    text: str | None
    """The scenario file; None if the seed cannot be shrunk."""


def by_signature(failed: Iterable[SeedResult]) -> dict[str, list[int]]:
    """Return the seeds that fail by the signature of their failures, in the order of the results."""
    groups: dict[str, list[int]] = {}
    for result in failed:
        groups.setdefault(result.signature, []).append(result.seed)
    return groups


def shrink_seed(scenario: Scenario, seed: int, *, limit_s: float | None = None) -> ShrunkSeed:
    """Shrink a seed that fails; each run of the search has `limit_s` seconds of real time."""
    try:
        shrunk = shrink(scenario, seed, limit_s=limit_s)
    except (ScenarioError, BrokerSimError, SimRuntimeError) as error:
        return ShrunkSeed(seed=seed, summary=f"cannot be shrunk: {error}", text=None)
    except Exception as error:  # noqa: BLE001 - an error of the simulator may be the failure of the seed
        return ShrunkSeed(seed=seed, summary=f"cannot be shrunk: {type(error).__name__}: {error}", text=None)
    return ShrunkSeed(seed=seed, summary=shrunk.summary, text=shrunk.text())
