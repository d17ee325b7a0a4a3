"""The action `drift_clock`: the wall clock of a broker runs too fast or too slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import BROKER, Fields, Number

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef, Drawable


@dataclass(frozen=True, slots=True)
class DriftClock(Action):
    """Let the wall clock of a broker gain `ppm` microseconds per second, lose when negative; `until` ends the drift."""

    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("broker", "ppm"),
        broker=BROKER,
        ppm=Number("microseconds per second, negative for a slow clock", 500),
    )
    broker: BrokerRef
    ppm: Drawable

    def fire(self, firing: Firing) -> None:
        """Do it in the next loop iteration."""
        broker_id = firing.resolve(self.broker)
        admin = firing.cluster.admin
        ppm = firing.number("ppm", self.ppm)
        firing.apply(lambda: admin.drift_clock(broker_id, ppm), lambda: admin.drift_clock(broker_id, 0))
