"""The act `drop_response`: everything is done, and nobody is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike


@dataclass(frozen=True, slots=True)
class DropResponse:
    """Send no answer; the connection stays open, and its later requests are served."""

    name: ClassVar[str] = "drop_response"
    on_cluster: ClassVar[bool] = False

    def strike(self, strike: Strike) -> Interception:  # noqa: ARG002 - an act's form
        """Lose the answer."""
        return Interception(outcome=Outcome.DROP_RESPONSE)
