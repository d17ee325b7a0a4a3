"""The moves of each consumer in each partition: from the place that it had reached to the one that it reads next.

A process keeps the place of the last **ok** operation that read the partition: those that end with `fail` or `info`
are compared with it and do not move it. An assign or subscribe forgets the partitions that it does not keep, a seek
those that it names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from broker_scenarios.checks.whole_history import forgotten_keys
from broker_scenarios.operations import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["PollMove", "moves_between_calls", "moves_within_calls"]


class PollMove(NamedTuple):
    """Two records of one partition that a process reads one after the other, by their offsets."""

    key: str
    first: int
    second: int
    calls: tuple[Call, ...]
    subscribed: bool = False


def moves_between_calls(history: WholeHistory) -> Iterator[PollMove]:
    """Return the moves from each operation to the next that reads the same partition."""
    for calls in history.by_process().values():
        places: dict[str, tuple[int, Call]] = {}
        subscribed = False
        for call in calls:
            if call.f in (Function.ASSIGN, Function.SUBSCRIBE):
                for key in forgotten_keys(call, list(places)):
                    del places[key]
                if call.ok:
                    subscribed = call.f is Function.SUBSCRIBE
            elif call.polls:
                for key, pairs in call.reads().items():
                    place = places.get(key)
                    if place is not None:
                        yield PollMove(key, place[0], pairs[0][0], (place[1], call), subscribed)
                    if call.ok:
                        places[key] = pairs[-1][0], call


def moves_within_calls(history: WholeHistory) -> Iterator[PollMove]:
    """Return the moves between neighbours of a partition in one operation, without those that a rebalance moved."""
    for call in history.calls:
        if not call.polls:
            continue
        moved = call.details.rebalanced if call.details is not None else ()
        for key, pairs in call.reads().items():
            if key not in moved:
                for (first, _), (second, _) in pairwise(pairs):
                    if second != first + 1:
                        yield PollMove(key, first, second, (call,))
