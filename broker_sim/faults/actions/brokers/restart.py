"""The action `restart`: a broker or controller starts again on its logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Restart(Action):
    """Start a node again, after a kill if it runs; a broker follows the new leaders and truncates to their logs."""

    needs: ClassVar = (Need.PROCESS,)
    on_cluster: ClassVar = True
    on_controllers: ClassVar = True
    form: ClassVar = BROKER
    broker: BrokerRef

    def fire(self, firing: Firing) -> None:
        """Start the node in the next loop iteration."""
        returning = firing.resolve(self.broker)
        firing.soon(lambda: firing.cluster.restart(returning))
