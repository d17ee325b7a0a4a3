"""The action `stop`: a broker shuts down in order (controlled shutdown: its leaderships move first)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Stop(Action):
    """Shut a broker down in order; `until` starts it again. The request that triggers it goes on."""

    needs: ClassVar = (Need.PROCESS,)
    on_cluster: ClassVar = True
    form: ClassVar = BROKER
    broker: BrokerRef

    def fire(self, firing: Firing) -> None:
        """Begin the shutdown in the next loop iteration. Raises NoEffect when the broker is not running."""
        victim = firing.running(self.broker)
        firing.record_victim(victim)
        firing.apply(lambda: firing.cluster.stop(victim), lambda: firing.cluster.restart(victim))
