"""The dependencies between operations, as Elle infers them for Kafka, and the components in which they are cyclic.

T1 -> T2 by `ww` if T2 wrote the value next to one of T1 in a partition, by `wr` if T2 polled a value that T1 sent; by
`process` and `realtime` if T1 had ended before T2 began, in one process or anywhere. Kafka's polls find no missing
value, hence there is no anti-dependency. A value with several writers or places gives no dependency.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import pairwise
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
    calls = {call.number: call for call in history.calls if call.type is not EventType.INVOKE and _is_data(call)}
    data = {Dependency.WW: dict.fromkeys(_write_order(history)), Dependency.WR: dict.fromkeys(_reads(history))}
    edges = {**data[Dependency.WW], **data[Dependency.WR]}
    left = _peel(calls, edges)
    left = _peel_back(left, edges)
    if not left:
        return Graph()
    kept = {kind: {edge: None for edge in each if edge[0] in left and edge[1] in left} for kind, each in data.items()}
    kept[Dependency.PROCESS] = dict.fromkeys(_process_order(left.values()))
    kept[Dependency.REALTIME] = dict.fromkeys(_real_time(left.values()))
    return Graph(left, kept)


def _is_data(call: Call) -> bool:
    return bool(call.sends or call.polls)


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


def _peel(calls: dict[int, Call], edges: dict[Edge, None]) -> dict[int, Call]:
    """Remove operations that depend on none that is left, in the order of time as well (Kahn's algorithm)."""
    waiting = dict.fromkeys(calls, 0)
    successors: dict[int, list[int]] = {}
    for before, after in edges:
        if before in waiting and after in waiting:
            waiting[after] += 1
            successors.setdefault(before, []).append(after)
    by_end = sorted(calls.values(), key=lambda call: call.completed_at)
    first_left = 0
    free = [(calls[number].invoked_at, number) for number, count in waiting.items() if not count]
    heapify(free)
    left = dict(calls)
    while free:
        invoked_at, number = heappop(free)
        while first_left < len(by_end) and by_end[first_left].number not in left:
            first_left += 1
        if by_end[first_left].completed_at < invoked_at:
            break
        del left[number]
        for after in successors.get(number, ()):
            waiting[after] -= 1
            if not waiting[after]:
                heappush(free, (calls[after].invoked_at, after))
    return left


def _peel_back(calls: dict[int, Call], edges: dict[Edge, None]) -> dict[int, Call]:
    """Remove operations on which none that is left depends."""
    waiting = dict.fromkeys(calls, 0)
    predecessors: dict[int, list[int]] = {}
    for before, after in edges:
        if before in waiting and after in waiting:
            waiting[before] += 1
            predecessors.setdefault(after, []).append(before)
    by_start = sorted(calls.values(), key=lambda call: -call.invoked_at)
    first_left = 0
    free = [(-calls[number].completed_at, number) for number, count in waiting.items() if not count]
    heapify(free)
    left = dict(calls)
    while free:
        completed_at, number = heappop(free)
        while first_left < len(by_start) and by_start[first_left].number not in left:
            first_left += 1
        if by_start[first_left].invoked_at > -completed_at:
            break
        del left[number]
        for before in predecessors.get(number, ()):
            waiting[before] -= 1
            if not waiting[before]:
                heappush(free, (-calls[before].completed_at, before))
    return left
