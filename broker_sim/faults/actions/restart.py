"""The action `restart`: a broker or controller starts again on its logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Restart:
    """Start a node again, after a kill if it runs; a broker follows the new leaders and truncates to their logs."""

    name: ClassVar[str] = "restart"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef

    def fire(self, firing: Firing) -> None:
        """Start the node in the next loop iteration."""
        returning = firing.resolve(self.broker)
        firing.soon(lambda: firing.cluster.restart(returning))
