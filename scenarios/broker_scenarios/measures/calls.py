"""Measures of the calls that applications make beside sends: how long the client keeps them (liveness)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]


def _longest_call_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    times = (
        (each.completed_us if each.completed_us >= 0 else facts.end_us) - each.invoked_us
        for each in facts.operations
        if ("call" not in select or each.f == select["call"])
        and ("client" not in select or fnmatchcase(facts.clients.get(each.process, ""), select["client"]))
    )
    return max(times, default=0) / 1000


MEASURES: Final = (
    Measure(
        name="longest_call_ms",
        meaning="the longest time of a call, to its end or to the end of the run, in milliseconds",
        keys=("call", "client"),
        of=_longest_call_ms,
    ),
)
