"""The action `pause`: the process of a broker stands still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Pause(Action):
    """Stop the process of a broker, as by SIGSTOP: it accepts bytes, its timers stand still; `until` continues it."""

    needs: ClassVar = (Need.PAUSE,)
    on_cluster: ClassVar = True
    form: ClassVar = BROKER
    broker: BrokerRef

    def fire(self, firing: Firing) -> None:
        """Stop it in the next loop iteration. Raises NoEffect when the broker is not running."""
        broker_id = firing.running(self.broker)
        firing.apply(lambda: firing.cluster.admin.pause(broker_id), lambda: firing.cluster.admin.resume(broker_id))
