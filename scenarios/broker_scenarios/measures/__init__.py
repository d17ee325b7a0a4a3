"""The measures that a scenario can expect something of: requests, connections, times, shares, memory, epochs, metrics.

Each file has one family. A measure is a function of the journal and the history; it changes nothing in the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.measures import (
    broker_metrics,
    calls,
    connections,
    groups,
    latencies,
    memory,
    producers,
    requests,
    shares,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import Measure

__all__ = ["MEASURES"]

MEASURES: Final[Mapping[str, Measure]] = {
    measure.name: measure
    for family in (requests, connections, latencies, calls, groups, shares, memory, producers, broker_metrics)
    for measure in family.MEASURES
}
"""Every measure by its name."""
