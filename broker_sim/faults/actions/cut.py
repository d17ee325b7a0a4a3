"""The act `cut_bytes`: the response ends in the middle, then the connection does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike


@dataclass(frozen=True, slots=True)
class CutResponse:
    """Send the first `cut_bytes` bytes of the response frame (its size included), then close the connection."""

    name: ClassVar[str] = "cut_bytes"
    on_cluster: ClassVar[bool] = False
    cut_bytes: int

    def strike(self, strike: Strike) -> Interception:  # noqa: ARG002 - an act's form
        """Cut the answer."""
        return Interception(outcome=Outcome.CUT, cut_bytes=self.cut_bytes)
