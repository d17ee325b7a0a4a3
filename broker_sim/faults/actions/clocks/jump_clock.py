"""The action `jump_clock`: the wall clock of a broker jumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import BROKER, Fields, Number

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef, Drawable


@dataclass(frozen=True, slots=True)
class JumpClock(Action):
    """Move the wall clock of a broker ahead by `ms`, back when negative; `until` moves it back again.

    Timers run on a monotonic clock and are not affected: timestamps, their checks and expiries by time are.
    """

    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("broker", "ms"),
        broker=BROKER,
        ms=Number("milliseconds ahead, negative for back", -60_000),
    )
    broker: BrokerRef
    ms: Drawable

    def fire(self, firing: Firing) -> None:
        """Do it in the next loop iteration."""
        broker_id = firing.resolve(self.broker)
        admin = firing.cluster.admin
        ms = firing.number("ms", self.ms)
        firing.apply(lambda: admin.jump_clock(broker_id, ms), lambda: admin.jump_clock(broker_id, -ms))
