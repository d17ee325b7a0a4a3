"""The action `error`: the broker responds with an error code, before the append instead of serving the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.forms import ErrorCodeForm
from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from protocol_specs.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class RespondWithError(Action):
    """Respond with this error code: for one partition where the phase names one, else for the whole request."""

    decides: ClassVar = True
    form: ClassVar = ErrorCodeForm()
    error_code: ErrorCode

    def fire(self, firing: Firing) -> Interception:  # noqa: ARG002 - the signature of every action
        """Return the interception that responds with the error."""
        return Interception(outcome=Outcome.ERROR, error_code=self.error_code)
