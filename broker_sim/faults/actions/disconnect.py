"""The act `disconnect`: the connection is closed where the request stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection. Before the append nothing is stored; after it everything is, and the answer is lost."""

    name: ClassVar[str] = "disconnect"
    on_cluster: ClassVar[bool] = False

    def strike(self, strike: Strike) -> Interception:  # noqa: ARG002 - an act's form
        """Close the connection."""
        return Interception(outcome=Outcome.DISCONNECT)
