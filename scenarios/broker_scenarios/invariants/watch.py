"""Checks the invariants of a run at the events of its journal. It never changes the run: the digest is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Finding
from broker_scenarios.invariants import INVARIANTS
from broker_scenarios.invariants.invariant import ClusterView
from broker_sim.control.events import Detail, TopicCreated

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from broker_scenarios.invariants.invariant import Broken, Invariant
    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event

__all__ = ["InvariantWatch"]

FINDINGS_LIMIT: Final = 1_000
"""How many findings each invariant reports; the others are counted in `crashes`, so that the verdict is no `valid`."""


class InvariantWatch:
    """The invariants with these names. `findings` and `crashes` grow during the run."""

    def __init__(self, cluster: Cluster, names: Sequence[str]) -> None:
        self.findings: list[Finding] = []
        self.crashes: list[str] = []
        self._view = ClusterView(cluster)
        self._journal = journal = cluster.journal
        self._begin_us = journal.now_us()
        self._by_event: dict[type[Event], list[Invariant]] = {}
        self._reported: dict[tuple[str, Hashable], None] = {}
        self._counts = dict.fromkeys(names, 0)
        for name in self._counts:
            invariant = INVARIANTS[name](self._view)
            for kind in invariant.events:
                self._by_event.setdefault(kind, []).append(invariant)
        if not journal.full and any(kind.detail is Detail.FULL for kind in self._by_event):
            journal.make_traffic()
            cluster.faults.changed()
        journal.subscribe(self._take, TopicCreated, *self._by_event)

    def _take(self, event: Event) -> None:
        if type(event) is TopicCreated:
            self._view.topic_created(event.topic, event.topic_id)
        for invariant in self._by_event.get(type(event), ()):
            try:
                for broken in invariant.check(event):
                    self._report(invariant, event, broken)
            except Exception as error:  # noqa: BLE001  (the brokers must not notice it: the verdict is unknown)
                self._crashed(invariant.kind.value, event, error)

    def _report(self, invariant: Invariant, event: Event, broken: Broken) -> None:
        name = invariant.kind.value
        if (name, broken.subject) in self._reported:
            return
        self._reported[name, broken.subject] = None
        self._counts[name] += 1
        if self._counts[name] > FINDINGS_LIMIT:
            if self._counts[name] == FINDINGS_LIMIT + 1:
                self.crashes.append(f"{name} has more than {FINDINGS_LIMIT} findings: the others are not listed")
            return
        where = "" if event.broker_id < 0 else f" of node {event.broker_id}"
        seen = f"event {self._journal.count()}, {event.kind}{where}, {(event.time_us - self._begin_us) / 1000:,.3f} ms"
        self.findings.append(
            Finding(
                kind=invariant.kind,
                topic=broken.topic,
                partition=broken.partition,
                value_id=-1,
                detail=f"{broken.detail} ({seen})",
                offset=broken.offset,
                complete_us=event.time_us,
            )
        )

    def _crashed(self, name: str, event: Event, error: Exception) -> None:
        text = f"invariant {name} crashed at {event.kind}: {type(error).__name__}: {error}"
        if text not in self.crashes:
            self.crashes.append(text)
