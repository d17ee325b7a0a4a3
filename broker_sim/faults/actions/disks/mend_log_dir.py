"""The action `mend_log_dir`: the end of a failure, fullness or slowness of a log directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import BROKER, LOG_DIR, Fields

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class MendLogDir(Action):
    """Repair a log directory of `broker`: a slow one at once, a failed or full one with the broker's next start."""

    on_cluster: ClassVar = True
    form: ClassVar = Fields(alone="broker", required=("broker",), broker=BROKER, log_dir=LOG_DIR)
    broker: BrokerRef
    log_dir: str | None = None

    def fire(self, firing: Firing) -> None:
        """Repair the directory in the next loop iteration."""
        broker = firing.resolve(self.broker)
        firing.soon(lambda: firing.cluster.mend_log_dir(broker, self.log_dir))
