"""Measures of parts: the share of the records that one partition holds (the check share)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]


def _share_percent(facts: RunFacts, select: Mapping[str, Any]) -> float:
    stored = [record for record in facts.truth.stored if "topic" not in select or record.topic == select["topic"]]
    within = [record for record in stored if "partition" not in select or record.partition == select["partition"]]
    return 100 * len(within) / len(stored) if stored else 0


MEASURES: Final = (
    Measure(
        name="share_percent",
        meaning="the part of the stored records that a partition holds, in percent",
        keys=("topic", "partition"),
        of=_share_percent,
    ),
)
