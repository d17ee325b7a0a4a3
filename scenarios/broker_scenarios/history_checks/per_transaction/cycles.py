"""G0 and G1c: operations that depend on each other in a circle.

ww: T2 wrote the value behind one that T1 wrote. wr: T2 polled a value that T1 sent. The variants add the order within a
process, or real time. Kafka gives no write isolation: a circle with a ww is permitted. Mirrors Elle's graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_scenarios.operations import Call

Graph = dict[int, dict[int, None]]

WRITES: Final = "Kafka gives no write isolation: records of concurrent transactions mix"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each circle of strongly connected operations; a simpler name takes precedence."""
    ww, wr = _write_edges(facts), _read_edges(facts)
    if not wr and not ww:
        return
    calls = {id(call): call for call in facts.calls}
    process, realtime = _process_edges(facts), _realtime_edges(facts)
    reported: list[frozenset[int]] = []
    for name, graphs, needed, allowed in (
        ("G1c", (wr,), wr, None),
        ("G0", (ww,), ww, WRITES),
        ("G1c", (ww, wr), wr, WRITES),
        ("G1c-process", (wr, process), wr, None),
        ("G1c-realtime", (wr, process, realtime), wr, None),
    ):
        for component in _components(_union(graphs)):
            members = frozenset(node for node in component if node in calls)
            if any(known & members for known in reported) or not _has_edge(needed, members):
                continue
            reported.append(members)
            yield Found(name=name, allowed=allowed, calls=[calls[node] for node in component if node in calls])


def _write_edges(facts: Facts) -> Graph:
    graph: Graph = {}
    for key, order in facts.order_of.items():
        for place, value in enumerate(order[1:], 1):
            before = facts.writes_of.get(order[place - 1], ())
            after = facts.writes_of.get(value, ())
            if before and after and before[0].key == key == after[0].key:
                _add(graph, before[0].call, after[0].call)
    return graph


def _read_edges(facts: Facts) -> Graph:
    graph: Graph = {}
    for read in facts.reads:
        for _, value in read.pairs:
            for write in facts.writes_of.get(value, ())[:1]:
                _add(graph, write.call, read.call)
    return graph


def _process_edges(facts: Facts) -> Graph:
    graph: Graph = {}
    last: dict[object, Call] = {}
    for call in facts.calls:
        if call.completed is None:
            continue
        before = last.get(call.process)
        if before is not None and before.completed is not None and before.completed.index < call.invoked.index:
            _add(graph, before, call)
        last[call.process] = call
    return graph


def _realtime_edges(facts: Facts) -> Graph:
    """T1 -> T2 if T1 completed before T2 was invoked, by a chain of moments: each completion leads to the next."""
    graph: Graph = {}
    completed = sorted(
        (call for call in facts.calls if call.completed is not None),
        key=lambda call: call.completed.index,  # type: ignore[union-attr]
    )
    moments = {id(call): -1 - place for place, call in enumerate(completed)}
    for place, call in enumerate(completed):
        graph.setdefault(id(call), {})[moments[id(call)]] = None
        if place:
            graph.setdefault(-place, {})[-1 - place] = None
    ends = [call.completed.index for call in completed if call.completed is not None]
    place = 0
    for call in sorted(facts.calls, key=lambda each: each.invoked.index):
        while place < len(ends) and ends[place] < call.invoked.index:
            place += 1
        if place:
            graph.setdefault(-place, {})[id(call)] = None
    return graph


def _add(graph: Graph, before: Call, after: Call) -> None:
    if before is not after:
        graph.setdefault(id(before), {})[id(after)] = None


def _union(graphs: Sequence[Graph]) -> Graph:
    if len(graphs) == 1:
        return graphs[0]
    union: Graph = {}
    for graph in graphs:
        for node, targets in graph.items():
            union.setdefault(node, {}).update(targets)
    return union


def _has_edge(graph: Graph, members: frozenset[int]) -> bool:
    return any(target in members for node in members for target in graph.get(node, ()))


def _components(graph: Mapping[int, Mapping[int, None]]) -> Iterator[list[int]]:
    """The strongly connected components of two or more nodes: Tarjan's algorithm, with a stack of its own."""
    numbers: dict[int, int] = {}
    lows: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in graph:
        if root in numbers:
            continue
        work = [(root, iter(graph.get(root, ())))]
        numbers[root] = lows[root] = len(numbers)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in numbers:
                    numbers[target] = lows[target] = len(numbers)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph.get(target, ()))))
                    break
                if target in on_stack:
                    lows[node] = min(lows[node], numbers[target])
            else:
                work.pop()
                if work:
                    lows[work[-1][0]] = min(lows[work[-1][0]], lows[node])
                if lows[node] == numbers[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        yield component[::-1]
