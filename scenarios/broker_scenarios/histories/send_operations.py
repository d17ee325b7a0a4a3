"""The events of sends as operations of the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history import NO_OFFSET, EventType
from broker_scenarios.operations import Function, Op, Send

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.operations import Value

__all__ = ["send_operations"]


def send_operations(
    events: Iterable[HistoryEvent], begin_us: int, place_of: Mapping[Value, str] | None = None
) -> Iterator[tuple[int, Op]]:
    """Return the time and the operation of each event; times of operations count from `begin_us`.

    A send whose partition no response has named has the one of `place_of`, by its value, else partition 0.
    """
    sends = list(events)
    partition_of = {event.value_id: event.partition for event in sends if event.partition >= 0}
    places = place_of or {}
    for event in sends:
        partition = partition_of.get(event.value_id)
        known = None if partition is None else f"{event.topic}-{partition}"
        key = known or places.get(event.value_id, f"{event.topic}-0")
        op = Op(
            index=0,
            process=event.process,
            type=EventType(event.type),
            f=Function.SEND,
            mops=[Send(key, event.value_id, event.offset if event.type == EventType.OK else NO_OFFSET)],
            time_ms=(event.time_us - begin_us) / 1000,
            error=event.error,
        )
        yield event.time_us, op
