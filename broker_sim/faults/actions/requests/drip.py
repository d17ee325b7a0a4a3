"""The action `drip`: a response stops in the middle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Fields, Number, Whole
from broker_sim.faults.interception import Interception, Phase

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True)
class Drip(Action):
    """Send the first bytes of a response; the rest follows after `stall_ms`, without it when the rule closes.

    The connection stays open, and no later response can overtake the rest.
    """

    needs: ClassVar = (Need.WIRE,)
    phases: ClassVar = (Phase.MID_RESPONSE,)
    form: ClassVar = Fields(
        alone="first_bytes",
        required=("first_bytes",),
        first_bytes=Whole("how many bytes of the frame are sent at once, its size field included", 7, at_least=1),
        stall_ms=Number("how many milliseconds later the rest follows", 2_000, at_least=0),
    )
    first_bytes: Drawable
    stall_ms: Drawable | None = None

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that stalls the response."""
        first = firing.whole("first_bytes", self.first_bytes)
        if self.stall_ms is None:
            return Interception(wait=firing.hold(), cut_bytes=first)
        return Interception(delay_ms=firing.number("stall_ms", self.stall_ms), cut_bytes=first)
