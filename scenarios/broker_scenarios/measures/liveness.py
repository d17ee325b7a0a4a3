"""Liveness: each partition to which clients send acknowledges a record soon after the last fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.control.events import BrokerStarted, RuleFired, RuleReleased

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["not_live"]

_ON_THE_WAY_US: Final = 10_000
"""An acknowledgement that arrives within this time after a fault has begun was on its way before."""


def not_live(facts: RunFacts, within_ms: float) -> Iterator[tuple[str, int]]:
    """Return the partitions that had a send after the last fault and acknowledged none in time.

    -1 stands for sends that got no partition, of a topic without any acknowledgement.
    """
    faults = [
        event
        for event in facts.journal
        if type(event) in {RuleFired, RuleReleased, BrokerStarted} and event.time_us <= facts.history_end_us
    ]
    last_us = faults[-1].time_us if faults else facts.begin_us
    on_the_way_us = _ON_THE_WAY_US if faults and type(faults[-1]) is RuleFired else 0
    waiting: dict[tuple[str, int], None] = {}
    served: set[tuple[str, int]] = set()
    for send in facts.sends:
        place = (send.topic, send.partition)
        if send.completed_us < 0 or send.completed_us >= last_us + on_the_way_us:
            waiting[place] = None
            if send.is_ok and send.completed_us <= last_us + within_ms * 1000:
                served |= {place, (send.topic, -1)}
    yield from (place for place in waiting if place not in served)
