"""The action `disconnect`: the broker closes the connection in the rule's phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action
from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class Disconnect(Action):
    """Close the connection. Before the append nothing is stored; after it all is stored and the response is lost."""

    decides: ClassVar = True

    def fire(self, firing: Firing) -> Interception:  # noqa: ARG002 - the signature of every action
        """Return the interception that closes the connection."""
        return Interception(outcome=Outcome.DISCONNECT)
