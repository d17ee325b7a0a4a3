"""G0 and G1c: operations that depend on each other in a cycle (Adya; Elle).

A cycle of writes alone is G0, one with a read is G1c; the suffix means that it needs the order of a process or real
time. Kafka isolates no writes, so that only a G1c without a `ww` edge breaks a promise. One finding per strongly
connected component, of the most specific name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.checks.per_transaction.dependencies import Dependency, Graph, cyclic_core
from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from networkx import DiGraph

    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["cycles"]


class _Search(NamedTuple):
    """A component of these edges with an edge of each required kind is a finding of this name."""

    kind: FindingKind
    edges: tuple[Dependency, ...]
    required: tuple[Dependency, ...]


_WW, _WR, _PROCESS, _REALTIME = Dependency
_SEARCHES: Final = (
    _Search(FindingKind.G1C, (_WR,), (_WR,)),
    _Search(FindingKind.G0, (_WW,), (_WW,)),
    _Search(FindingKind.G1C, (_WW, _WR), (_WW, _WR)),
    _Search(FindingKind.G1C_PROCESS, (_WR, _PROCESS), (_WR, _PROCESS)),
    _Search(FindingKind.G0_PROCESS, (_WW, _PROCESS), (_WW, _PROCESS)),
    _Search(FindingKind.G1C_PROCESS, (_WW, _WR, _PROCESS), (_WW, _WR, _PROCESS)),
    _Search(FindingKind.G1C_REALTIME, (_WR, _REALTIME), (_WR, _REALTIME)),
    _Search(FindingKind.G0_REALTIME, (_WW, _REALTIME), (_WW, _REALTIME)),
    _Search(FindingKind.G1C_REALTIME, (_WW, _WR, _REALTIME), (_WW, _WR, _REALTIME)),
)


def cycles(history: WholeHistory) -> Iterator[Finding]:
    """Find cyclic dependencies; one finding per component, with the operations of one cycle."""
    graph = cyclic_core(history)
    if not graph.calls:
        return
    reported: dict[int, None] = {}
    for search in _SEARCHES:
        yield from _findings(history, graph, search, reported)


def _findings(history: WholeHistory, graph: Graph, search: _Search, reported: dict[int, None]) -> Iterator[Finding]:
    # Takes a fifth of a second, which a history without a cycle need not wait for.
    from networkx import DiGraph, find_cycle, strongly_connected_components

    wanted: DiGraph[int] = DiGraph()
    for kind in search.edges:
        wanted.add_edges_from(graph.edges[kind])
    for component in [each for each in strongly_connected_components(wanted) if len(each) > 1]:
        inside = wanted.subgraph(component)
        has_all = all(any(edge in graph.edges[kind] for edge in inside.edges) for kind in search.required)
        if not has_all or not reported.keys().isdisjoint(component):
            continue
        reported.update(dict.fromkeys(component))
        steps = [(before, after) for before, after, *_ in find_cycle(inside, min(component))]
        calls = [graph.calls[before] for before, _ in steps]
        names = " -> ".join(f"i={call.name_index}" for call in [*calls, calls[0]])
        yield history.finding(
            search.kind,
            "",
            calls,
            f"{names}, in a component of {len(component)} operations",
            cause=Cause.WRITE_ORDER if _WW in search.edges else Cause.UNEXPLAINED,
        )
