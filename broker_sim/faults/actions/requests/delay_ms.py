"""The action `delay_ms`: the request goes on later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import Number
from broker_sim.faults.interception import Interception

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True)
class Delay(Action):
    """Wait `delay_ms` milliseconds, then go on. Before the append it occupies a handler, as slow work would."""

    form: ClassVar = Number("milliseconds", 50, at_least=0)
    delay_ms: Drawable

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that delays the request."""
        return Interception(delay_ms=firing.number("delay_ms", self.delay_ms))
