"""The action `delay_ms`: the request goes on later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.interception import Interception
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait `delay_ms` milliseconds, then go on. Before the append it occupies a handler, as slow work would."""

    name: ClassVar[str] = "delay_ms"
    on_cluster: ClassVar[bool] = False
    delay_ms: float

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that delays the request."""
        return Interception(wait=sleep(firing.reactor, self.delay_ms))
