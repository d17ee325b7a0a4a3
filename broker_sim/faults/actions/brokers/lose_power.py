"""The action `lose_power`: a broker's machine loses its power, and the broker what its disk had not made durable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER
from broker_sim.faults.node_crash import crash

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.interception import Interception
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class LosePower(Action):
    """Kill a broker and lose all or part of the data that was not flushed yet; `until` starts it again."""

    on_cluster: ClassVar = True
    needs: ClassVar = (Need.CLUSTER, Need.DISK)
    form: ClassVar = BROKER
    broker: BrokerRef

    def fire(self, firing: Firing) -> Interception | None:
        """Take the power away in the next loop iteration."""
        return crash(firing, firing.resolve(self.broker), firing.cluster.lose_power)
