"""The action `mutate`: the response is sent with changed bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from protocol_specs.fuzzing import Mutation


@dataclass(frozen=True, slots=True)
class Mutate:
    """Change one field of the response, by its path (see `protocol_specs.fuzzing`), and send the rest as it is.

    A path that the response does not have leaves the response unchanged and is reported as the problem of the rule.
    """

    name: ClassVar[str] = "mutate"
    on_cluster: ClassVar[bool] = False
    mutation: Mutation

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that mutates the response."""
        return Interception(outcome=Outcome.MUTATE, mutations=(self.mutation,), report_problem=firing.report_problem)
