"""one-controller-per-epoch: in one controller epoch, one node is the active controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant
from broker_sim.control.events import ControllerElected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event

__all__ = ["OneControllerPerEpoch"]


class OneControllerPerEpoch(Invariant):
    """Remembers the controller of each epoch."""

    kind = FindingKind.ONE_CONTROLLER_PER_EPOCH
    claim = "in one controller epoch one node is the active controller"
    events = (ControllerElected,)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._controllers: dict[int, int] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the second controller of an epoch."""
        assert isinstance(event, ControllerElected), "it is the only kind"
        epoch = event.controller_epoch
        first = self._controllers.setdefault(epoch, event.broker_id)
        if first != event.broker_id:
            yield Broken(
                subject=epoch, detail=f"nodes {first} and {event.broker_id} both lead in controller epoch {epoch}"
            )
