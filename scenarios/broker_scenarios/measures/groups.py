"""Measures of groups: how often a coordinator refuses the requests of members (liveness)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure
from broker_sim.control.events import GroupRequestRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]


def _refused(facts: RunFacts, select: Mapping[str, Any]) -> float:
    return sum(
        1
        for event in facts.journal
        if type(event) is GroupRequestRefused
        and ("api" not in select or event.api == select["api"])
        and ("error" not in select or event.error == select["error"])
    )


MEASURES: Final = (
    Measure(
        name="refused_members",
        meaning="how many requests of members the coordinators refused",
        keys=("api", "error"),
        of=_refused,
    ),
)
