"""int-poll-skip and int-nonmonotonic-poll: the records of one call leave out values, or are not in their order."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Value


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each pair of neighbours; keys that moved in a rebalance during the call are left out."""
    polled: dict[tuple[int, str], tuple[Call, list[Value]]] = {}
    for read in facts.reads:
        if read.key not in read.call.rebalanced:
            found = polled.setdefault((id(read.call), read.key), (read.call, []))
            found[1].extend(value for _, value in read.pairs)
    for (_, key), (call, values) in polled.items():
        for before, after in pairwise(values):
            distance = facts.distance(key, before, after)
            if distance > 1:
                yield Found(name="int-poll-skip", values=facts.between(key, before, after), calls=[call], key=key)
            elif distance < 1:
                yield Found(name="int-nonmonotonic-poll", calls=[call], key=key)
