"""The act `kill`: a broker dies without a word, as by SIGKILL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from twisted.internet.defer import Deferred

from broker_sim.faults.interception import Interception, Outcome

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill `broker`: its connections are reset, its logs stay. A request that triggers it is never answered."""

    name: ClassVar[str] = "kill"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef

    def strike(self, strike: Strike) -> Interception | None:
        """Kill the broker in the next turn."""
        victim = strike.resolve(self.broker)
        dead: Deferred[None] = Deferred()

        def kill() -> None:
            strike.record_victim(victim)
            strike.cluster.kill(victim)
            dead.callback(None)

        strike.soon(kill)
        return None if strike.point is None else Interception(wait=dead, outcome=Outcome.DISCONNECT)
