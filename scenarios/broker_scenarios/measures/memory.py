"""Measures of memory: what clients and brokers hold at one time (the check res-memory)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure
from broker_sim.control.events import ResponseSent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]


def _peak(changes: Iterable[tuple[int, int]]) -> int:
    """The highest sum of the changes, in the order of their times; what ends at a time ends before what begins."""
    held = most = 0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def _open_bytes(facts: RunFacts, select: Mapping[str, Any]) -> float:
    changes: list[tuple[int, int]] = []
    for send in facts.sends_of(select):
        changes.append((send.invoked_us, send.size_bytes))
        if send.completed_us >= 0:
            changes.append((send.completed_us, -send.size_bytes))
    return _peak(changes)


def _held_bytes(facts: RunFacts, select: Mapping[str, Any]) -> float:
    received = {(event.broker_id, event.request_id): event for event in facts.requests(select)}
    changes = [(event.time_us, event.size) for event in received.values()]
    changes += [
        (event.time_us, -received[event.broker_id, event.request_id].size)
        for event in facts.journal
        if type(event) is ResponseSent and (event.broker_id, event.request_id) in received
    ]
    return _peak(changes)


MEASURES: Final = (
    Measure(
        name="open_bytes",
        meaning="the most bytes of records that a client had accepted and not completed at one time",
        keys=("client", "topic", "partition", "from_ms"),
        of=_open_bytes,
    ),
    Measure(
        name="held_request_bytes",
        meaning="the most bytes of requests that the brokers had received and not served at one time",
        keys=("api", "client", "broker", "from_ms"),
        of=_held_bytes,
    ),
)
