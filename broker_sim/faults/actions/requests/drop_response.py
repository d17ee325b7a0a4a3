"""The action `drop_response`: the network loses the response, and all later ones of the connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class DropResponse(Action):
    """Serve the request and send nothing on its connection from then on, which stays open until the client closes it.

    Kafka responds to the requests of a connection in order, so that a client cannot receive a later response first.
    """

    decides: ClassVar = True

    def fire(self, firing: Firing) -> Interception:  # noqa: ARG002 - the signature of every action
        """Return the interception that loses the response."""
        return Interception(outcome=Outcome.DROP_RESPONSE)
