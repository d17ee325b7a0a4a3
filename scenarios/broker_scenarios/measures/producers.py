"""Measures of producers in the logs: the epochs of what leaders append (the check wire-epoch)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure
from broker_sim.control.events import BatchAppended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]


def _old_epoch_appends(facts: RunFacts, select: Mapping[str, Any]) -> float:
    newest: dict[tuple[str, int, int], int] = {}
    old = 0
    for event in facts.journal:
        if (
            type(event) is BatchAppended
            and event.producer_id >= 0
            and ("topic" not in select or event.topic == select["topic"])
            and ("partition" not in select or event.partition == select["partition"])
        ):
            place = (event.topic, event.partition, event.producer_id)
            before = newest.get(place, -1)
            old += event.producer_epoch < before
            newest[place] = max(before, event.producer_epoch)
    return old


MEASURES: Final = (
    Measure(
        name="old_epoch_appends",
        meaning="how many batches leaders appended behind one of the same producer id with a newer epoch",
        keys=("topic", "partition"),
        of=_old_epoch_appends,
    ),
)
