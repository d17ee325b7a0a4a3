"""The action `duplicate_response`: a client receives a response more than once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Whole
from broker_sim.faults.interception import Interception, Phase

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True)
class DuplicateResponse(Action):
    """Send the frame of a response again, right after itself: so many more times."""

    needs: ClassVar = (Need.WIRE,)
    phases: ClassVar = (Phase.MID_RESPONSE,)
    form: ClassVar = Whole("how many copies follow the response", 1, at_least=1, at_most=1_000)
    copies: Drawable

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that repeats the frame."""
        return Interception(copies=firing.whole("copies", self.copies), report_problem=firing.report_problem)
