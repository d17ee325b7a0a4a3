"""The action `fill_log_dir`: a full log directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER, LOG_DIR, Fields, Whole

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef, Drawable


@dataclass(frozen=True, slots=True)
class FillLogDir(Action):
    """Leave room for `left_bytes` in a log directory of `broker`, by default its last; what does not fit fails it."""

    on_cluster: ClassVar = True
    needs: ClassVar = (Need.CLUSTER, Need.DISK)
    form: ClassVar = Fields(
        alone="broker",
        required=("broker",),
        broker=BROKER,
        log_dir=LOG_DIR,
        left_bytes=Whole("the room that is left", 4096, at_least=0),
    )
    broker: BrokerRef
    log_dir: str | None = None
    left_bytes: Drawable = 0

    def fire(self, firing: Firing) -> None:
        """Fill the directory in the next loop iteration."""
        broker = firing.resolve(self.broker)
        left_bytes = firing.whole("left_bytes", self.left_bytes)
        firing.apply(
            lambda: firing.cluster.fill_log_dir(broker, self.log_dir, left_bytes=left_bytes),
            lambda: firing.cluster.mend_log_dir(broker, self.log_dir),
        )
