"""The act `lose_power`: a broker's machine goes dark, and with it what its disk had not made durable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from twisted.internet.defer import Deferred

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class LosePower:
    """Kill `broker` and lose of its logs what `flush.messages` and `flush.ms` had not flushed, all of it or in part."""

    name: ClassVar[str] = "lose_power"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef

    def strike(self, strike: Strike) -> Interception | None:
        """Take the power away in the next turn."""
        victim = strike.resolve(self.broker)
        strike.needs_disk(self.name)
        dark: Deferred[None] = Deferred()

        def lose_power() -> None:
            strike.record_victim(victim)
            strike.cluster.lose_power(victim)
            dark.callback(None)

        strike.soon(lose_power)
        return None if strike.point is None else Interception(wait=dark, outcome=Outcome.DISCONNECT)
