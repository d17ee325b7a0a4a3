"""The dependencies between operations, as Elle infers them for Kafka, and the components in which they are cyclic.

T1 -> T2 by `ww` if T2 wrote the value next to one of T1 in a partition, by `wr` if T2 polled a value that T1 sent; by
`process` and `realtime` if T1 had ended before T2 began, in one process or anywhere. Kafka's polls find no missing
value, hence there is no anti-dependency. A value with several writers or places gives no dependency.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from broker_scenarios.history import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.operations import Value

__all__ = ["Dependency", "Graph", "cyclic_core"]

Edge: TypeAlias = tuple[int, int]


class Dependency(StrEnum):
    """The kinds of dependencies."""

    WW = "ww"
    WR = "wr"
    PROCESS = "process"
    REALTIME = "realtime"


@dataclass(slots=True)
class Graph:
    """Operations by their number, and the edges between them by kind."""

    calls: dict[int, Call] = field(default_factory=dict)
    edges: dict[Dependency, dict[Edge, None]] = field(default_factory=dict)


def cyclic_core(history: WholeHistory) -> Graph:
    """Return what is left when operations that are in no cycle are removed from both ends of the order."""
    data = {Dependency.WW: _Edges(_write_order(history)), Dependency.WR: _Edges(_reads(history))}
    calls = history.calls
    alive = bytearray(call.type is not EventType.INVOKE and bool(call.sends or call.polls) for call in calls)
    invoked, completed = (array("q", map(attrgetter(name), calls)) for name in ("invoked_at", "completed_at"))
    befores, afters = (data[Dependency.WW].ends[at] + data[Dependency.WR].ends[at] for at in (0, 1))
    _peel(alive, befores, afters, invoked, completed)
    # The same from the other end: time runs backwards.
    _peel(alive, afters, befores, array("q", (-at for at in completed)), array("q", (-at for at in invoked)))
    left = {call.number: call for call in calls if alive[call.number]}
    if not left:
        return Graph()
    kept = {kind: dict.fromkeys(edges.between(alive)) for kind, edges in data.items()}
    kept[Dependency.PROCESS] = dict.fromkeys(_process_order(left.values()))
    kept[Dependency.REALTIME] = dict.fromkeys(_real_time(left.values()))
    return Graph(left, kept)


class _Edges:
    """Edges in two arrays: a history of a million operations has as many."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.ends = (array("q"), array("q"))
        add_before, add_after = (each.append for each in self.ends)
        for before, after in edges:
            add_before(before)
            add_after(after)

    def between(self, alive: bytearray) -> Iterator[Edge]:
        """The edges between operations that are left."""
        return (edge for edge in zip(*self.ends, strict=True) if alive[edge[0]] and alive[edge[1]])


def _writer(history: WholeHistory, key: str, value: Value) -> Call | None:
    sends = history.analyses[key].sends_of.get(value, ())
    if len(sends) != 1:
        return None
    call = sends[0].call
    return None if call is None or call.type is EventType.INVOKE else call


def _reads(history: WholeHistory) -> Iterator[Edge]:
    for call in history.calls:
        if call.type is not EventType.INVOKE:
            for key, pairs in call.polls:
                for _, value in pairs:
                    writer = _writer(history, key, value)
                    if writer is not None and writer is not call:
                        yield writer.number, call.number


def _write_order(history: WholeHistory) -> Iterator[Edge]:
    for key, analysis in history.analyses.items():
        for first, second in analysis.observed.neighbours():
            before, after = _writer(history, key, first), _writer(history, key, second)
            if before is not None and after is not None and before is not after:
                yield before.number, after.number


def _process_order(calls: Iterable[Call]) -> Iterator[Edge]:
    by_process: dict[object, list[Call]] = {}
    for call in calls:
        by_process.setdefault(call.process, []).append(call)
    for ordered in by_process.values():
        for before, after in pairwise(sorted(ordered, key=lambda call: call.invoked_at)):
            if before.completed_at < after.invoked_at and before.type is not EventType.INFO:
                yield before.number, after.number


def _real_time(calls: Iterable[Call]) -> Iterator[Edge]:
    """Return the order of time without the edges that follow from others. An unknown outcome may take effect later."""
    events = sorted(
        [(call.invoked_at, True, call) for call in calls]
        + [(call.completed_at, False, call) for call in calls if call.type is not EventType.INFO],
        key=lambda event: event[0],
    )
    latest: list[Call] = []
    for _, begins, call in events:
        if begins:
            yield from ((before.number, call.number) for before in latest)
        else:
            latest = [before for before in latest if before.completed_at >= call.invoked_at]
            latest.append(call)


def _peel(alive: bytearray, befores: array[int], afters: array[int], begins: array[int], ends: array[int]) -> None:
    """Remove operations before which none is left, by an edge or in time (Kahn's algorithm)."""
    count = len(alive)
    waiting, first = array("q", bytes(8 * count)), array("q", bytes(8 * (count + 1)))
    for before, after in zip(befores, afters, strict=True):
        if alive[before] and alive[after]:
            waiting[after] += 1
            first[before + 1] += 1
    for number in range(count):
        first[number + 1] += first[number]
    successors, next_place = array("q", bytes(8 * first[count])), array("q", first)
    for before, after in zip(befores, afters, strict=True):
        if alive[before] and alive[after]:
            successors[next_place[before]] = after
            next_place[before] += 1
    by_end = sorted((number for number in range(count) if alive[number]), key=ends.__getitem__)
    earliest = 0
    free = [(begins[number], number) for number in by_end if not waiting[number]]
    heapify(free)
    while free:
        begin, number = heappop(free)
        while not alive[by_end[earliest]]:
            earliest += 1
        if ends[by_end[earliest]] < begin:
            return
        alive[number] = 0
        for place in range(first[number], first[number + 1]):
            after = successors[place]
            waiting[after] -= 1
            if not waiting[after]:
                heappush(free, (begins[after], after))
