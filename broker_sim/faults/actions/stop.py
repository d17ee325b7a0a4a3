"""The act `stop`: a broker shuts down in order (controlled shutdown: its leaderships move first)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop `broker` in order; the request that triggers it goes on."""

    name: ClassVar[str] = "stop"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef

    def strike(self, strike: Strike) -> None:
        """Stop the broker, from the next turn on."""
        victim = strike.resolve(self.broker)
        strike.record_victim(victim)
        strike.soon(lambda: strike.cluster.stop(victim))
