"""The act `delay_ms`: the request goes on after a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait `delay_ms` milliseconds, then go on. Before the append it occupies a handler, as slow work would."""

    name: ClassVar[str] = "delay_ms"
    on_cluster: ClassVar[bool] = False
    delay_ms: float

    def strike(self, strike: Strike) -> Interception:
        """Let the request wait."""
        return Interception(wait=sleep(strike.reactor, self.delay_ms))
