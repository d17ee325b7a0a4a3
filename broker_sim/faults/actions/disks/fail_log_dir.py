"""The action `fail_log_dir`: I/O errors in a log directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import BROKER, LOG_DIR, Fields

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class FailLogDir(Action):
    """Fail a log directory of `broker`, by default its last, with I/O errors: its replicas go offline (KIP-112).

    The first directory holds the metadata; its failure ends the broker.
    """

    on_cluster: ClassVar = True
    form: ClassVar = Fields(alone="broker", required=("broker",), broker=BROKER, log_dir=LOG_DIR)
    broker: BrokerRef
    log_dir: str | None = None

    def fire(self, firing: Firing) -> None:
        """Fail the directory in the next loop iteration."""
        broker = firing.resolve(self.broker)
        firing.apply(
            lambda: firing.cluster.fail_log_dir(broker, self.log_dir),
            lambda: firing.cluster.mend_log_dir(broker, self.log_dir),
        )
