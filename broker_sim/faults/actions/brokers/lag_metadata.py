"""The action `lag_metadata`: a broker learns of changes late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import BROKER, Fields, Number

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef, Drawable


@dataclass(frozen=True, slots=True)
class LagMetadata(Action):
    """Let a broker learn of every change of the metadata `ms` later than it is sent; `until` ends the lag."""

    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("broker", "ms"),
        broker=BROKER,
        ms=Number("milliseconds", 3_000, at_least=0),
    )
    broker: BrokerRef
    ms: Drawable

    def fire(self, firing: Firing) -> None:
        """Do it in the next loop iteration."""
        broker_id = firing.resolve(self.broker)
        admin = firing.cluster.admin
        ms = firing.number("ms", self.ms)
        firing.apply(lambda: admin.lag_metadata(broker_id, ms), lambda: admin.lag_metadata(broker_id, 0))
