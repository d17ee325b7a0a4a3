"""The act `restart`: a broker that was killed or stopped comes back with its logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Restart:
    """Start `broker` again; it follows the new leaders and truncates what they do not have."""

    name: ClassVar[str] = "restart"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef

    def strike(self, strike: Strike) -> None:
        """Start the broker in the next turn."""
        returning = strike.resolve(self.broker)
        strike.soon(lambda: strike.cluster.restart(returning))
