"""One scenario, seed after seed, on virtual time: how often it ends as its file expects, and what the worst seeds lost.

Chance enters a run by its seed alone: the load, the network, the back-offs of producers, and the moments of faults
where the file gives a range for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console
from twisted.python.runtime import seconds

from broker_scenarios.evidence import judged
from broker_scenarios.reproduce import reproduce_command
from broker_scenarios.table import load_progress
from broker_scenarios.verdict import COUNT_NAMES
from broker_scenarios.virtual_run import run_virtually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.scenario import Scenario
    from broker_scenarios.verdict import Counts

__all__ = ["SeedResult", "sweep", "sweep_seeds"]

_MISSES_SHOWN_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """What one seed came to; no misses: it ended as the file expects."""

    seed: int
    counts: Counts
    digest: str
    misses: tuple[str, ...]


def sweep_seeds(scenario: Scenario, *, seeds: int, first_seed: int = 0) -> Iterator[SeedResult]:
    """Run the seeds one after another."""
    for seed in range(first_seed, first_seed + seeds):
        run = judged(run_virtually(scenario, seed), engine=None)
        yield SeedResult(seed=seed, counts=run.verdict.counts, digest=run.facts["digest"], misses=run.judgement.misses)


def sweep(scenario: Scenario, *, seeds: int, first_seed: int = 0) -> int:
    """Run the seeds, print what they came to; answer 0 when each ended as the file expects, else 1."""
    started = seconds()
    results: list[SeedResult] = []
    with load_progress(f"{scenario.name}, seeds", seeds) as progress:
        for result in sweep_seeds(scenario, seeds=seeds, first_seed=first_seed):
            results.append(result)
            progress.update(len(results), f"seed {result.seed}")
    took_s = max(seconds() - started, 1e-9)
    out = Console(highlight=False, soft_wrap=True)
    missed = [result for result in results if result.misses]
    out.print(f"{scenario.name}: {len(results) - len(missed)} of {len(results)} seeds ended as expected")
    for name in COUNT_NAMES:
        counts = [result.counts.as_dict()[name] for result in results]
        most = results[counts.index(max(counts))].seed
        some = sum(count > 0 for count in counts)
        out.print(f"  {name}: {sum(counts):,} in {some} seeds, most {max(counts):,} (seed {most})")
    for result in missed[:_MISSES_SHOWN_MAX]:
        again = reproduce_command(scenario.path, where="--virtual", seed=result.seed, records=scenario.load.records)
        out.print(f"seed {result.seed}: {'; '.join(result.misses)}\n  reproduce: {again}", markup=False)
    if len(missed) > _MISSES_SHOWN_MAX:
        out.print(f"... and {len(missed) - _MISSES_SHOWN_MAX} more seeds")
    out.print(f"{len(results) / took_s:.2f} seeds a second ({took_s:.1f} s)")
    return 1 if missed else 0
