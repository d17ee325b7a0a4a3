"""The action `resume`: a paused broker goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Resume(Action):
    """Continue the process of a paused broker: timers that are due fire, what has arrived is served."""

    needs: ClassVar = (Need.PAUSE,)
    on_cluster: ClassVar = True
    form: ClassVar = BROKER
    broker: BrokerRef

    def fire(self, firing: Firing) -> None:
        """Continue it in the next loop iteration. Raises NoEffect when the broker is not running."""
        broker_id = firing.running(self.broker)
        firing.soon(lambda: firing.cluster.admin.resume(broker_id))
