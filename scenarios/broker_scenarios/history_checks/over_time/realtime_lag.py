"""realtime-lag: a poll returns less than what was known to be there for longer than is claimed; a lower bound."""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import TYPE_CHECKING

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found
from broker_scenarios.operations import polled_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Process


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each poll and partition whose lag is above the claim."""
    limit_ms = facts.claims.max_realtime_lag_ms
    if limit_ms is None:
        return
    known = _known(facts)
    positions: dict[Process, dict[str, int]] = {}
    for call in facts.calls:
        own = positions.setdefault(call.process, {})
        if call.f == "assign" and call.outcome is not EventType.FAIL:
            _assign(call, own)
        elif call.f == "subscribe":
            own.clear()
        elif call.is_ok and call.f in {"poll", "txn"}:
            for key, pairs in polled_of(call):
                if pairs:
                    own[key] = max(offset for offset, _ in pairs)
            for key, offset in own.items():
                since_ms = _known_since(known.get(key, ([], [])), offset + 1)
                if since_ms is not None and call.invoked.t_ms - since_ms > limit_ms:
                    yield Found(name="realtime-lag", calls=[call], key=key)


def _assign(call: Call, positions: dict[str, int]) -> None:
    names = [name for mop in call.result if mop[0] == "assign" for name in mop[1]]
    kept = {name: positions.get(name, -1) for name in names}
    for mop in call.result:
        if mop[0] == "seek":
            for key, offset in mop[1].items():
                kept[key] = offset - 1 if isinstance(offset, int) else -1
    positions.clear()
    positions.update(kept)


def _known(facts: Facts) -> dict[str, tuple[list[int], list[float]]]:
    """Key -> its seen offsets, and the earliest time at which an operation had shown that one or a later one."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    for key, offsets in facts.values_at.items():
        places: list[int] = []
        times: list[float] = []
        earliest = inf
        for offset in sorted(offsets, reverse=True):
            ends = [call.completed.t_ms for calls in offsets[offset].values() for call in calls if call.completed]
            earliest = min([earliest, *ends])
            places.append(offset)
            times.append(earliest)
        found[key] = (places[::-1], times[::-1])
    return found


def _known_since(known: tuple[list[int], list[float]], offset: int) -> float | None:
    """The earliest time at which an offset that is not below `offset` was known."""
    places, times = known
    place = bisect_left(places, offset)
    return times[place] if place < len(times) else None
