"""The action `kill`: a broker or controller ends at once, as by SIGKILL."""

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
class Kill(Action):
    """Kill a node: its connections are reset, its logs stay; `until` starts it again.

    A request to the node that triggers it gets no response; a request to another node goes on.
    """

    needs: ClassVar = (Need.PROCESS,)
    on_cluster: ClassVar = True
    on_controllers: ClassVar = True
    form: ClassVar = BROKER
    broker: BrokerRef

    def fire(self, firing: Firing) -> Interception | None:
        """Kill the broker in the next loop iteration. Raises NoEffect when it is not running."""
        return crash(firing, firing.running(self.broker), firing.cluster.kill)
