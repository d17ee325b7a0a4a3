"""Measures of requests: how many, how fast, how far apart, how large (the checks wire-rate and wire-no-*)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure, most_in_a_second
from broker_sim.control.events import ProduceCompleted, ResponseSent
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]

_KEYS: Final = ("api", "client", "broker", "from_ms")


def _count(facts: RunFacts, select: Mapping[str, Any]) -> float:
    return sum(1 for _ in facts.requests(select))


def _rate(facts: RunFacts, select: Mapping[str, Any]) -> float:
    return most_in_a_second(event.time_us for event in facts.requests(select))


def _shortest_gap_ms(facts: RunFacts, select: Mapping[str, Any]) -> float:
    times = [event.time_us for event in facts.requests(select)]
    return min(((later - earlier) / 1000 for earlier, later in pairwise(times)), default=0)


def _largest_response(facts: RunFacts, select: Mapping[str, Any]) -> float:
    fitting = facts.request_ids(select)
    responses = (event for event in facts.journal if type(event) is ResponseSent)
    return max((event.size for event in responses if (event.broker_id, event.request_id) in fitting), default=0)


def _refused(facts: RunFacts, select: Mapping[str, Any]) -> float:
    fitting = facts.request_ids({**select, "api": "Produce"})
    return sum(
        1
        for event in facts.journal
        if type(event) is ProduceCompleted
        and event.error_code != ErrorCode.NONE
        and (event.broker_id, event.request_id) in fitting
    )


MEASURES: Final = (
    Measure(name="requests", meaning="how many requests the brokers received", keys=_KEYS, of=_count),
    Measure(name="requests_in_a_second", meaning="the most requests within any second", keys=_KEYS, of=_rate),
    Measure(
        name="shortest_gap_ms",
        meaning="the shortest time between two requests, in milliseconds",
        keys=_KEYS,
        of=_shortest_gap_ms,
    ),
    Measure(
        name="largest_response_bytes",
        meaning="the size of the largest response, in bytes",
        keys=_KEYS,
        of=_largest_response,
    ),
    Measure(
        name="refused_batches",
        meaning="how many batches the brokers refused",
        keys=("client", "broker", "from_ms"),
        of=_refused,
    ),
)
