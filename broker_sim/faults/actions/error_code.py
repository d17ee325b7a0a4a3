"""The act `error`: the broker answers an error code, before the append instead of the work, later beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike
    from protocol_specs.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class AnswerError:
    """Answer `error_code`: for one partition where the phase names one, else for the whole request."""

    name: ClassVar[str] = "error"
    on_cluster: ClassVar[bool] = False
    error_code: ErrorCode

    def strike(self, strike: Strike) -> Interception:  # noqa: ARG002 - an act's form
        """Answer the error."""
        return Interception(outcome=Outcome.ERROR, error_code=self.error_code)
