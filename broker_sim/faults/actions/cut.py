"""The action `cut_bytes`: the connection ends in the middle of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class CutResponse:
    """Send the first `cut_bytes` bytes of the response frame (its size field included), then close the connection."""

    name: ClassVar[str] = "cut_bytes"
    on_cluster: ClassVar[bool] = False
    cut_bytes: int

    def fire(self, firing: Firing) -> Interception:  # noqa: ARG002 - the signature of every action
        """Return the interception that cuts the response."""
        return Interception(outcome=Outcome.CUT, cut_bytes=self.cut_bytes)
