"""The action `cut_bytes`: the connection ends in the middle of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import Whole
from broker_sim.faults.interception import Interception, Outcome, Phase

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True)
class CutResponse(Action):
    """Send the first `cut_bytes` bytes of the response frame (its size field included), then close the connection."""

    phases: ClassVar = (Phase.MID_RESPONSE, Phase.BEFORE_RESPONSE)
    decides: ClassVar = True
    form: ClassVar = Whole("how many bytes of the frame are sent", 7, at_least=0)
    cut_bytes: Drawable

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that cuts the response."""
        return Interception(outcome=Outcome.CUT, cut_bytes=firing.whole("cut_bytes", self.cut_bytes))
