"""The action `rolling_restart`: brokers restart one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Broker, ListOf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class RollingRestart(Action):
    """Restart brokers in order, one at a time, each when the one before is in sync again."""

    needs: ClassVar = (Need.PROCESS,)
    on_cluster: ClassVar = True
    form: ClassVar = ListOf(Broker("a broker, in any form of a broker"), "the brokers in their order")
    restarted: tuple[BrokerRef, ...]

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The brokers that restart."""
        return self.restarted

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        ids = [firing.resolve(each, f"broker[{place}]") for place, each in enumerate(self.restarted)]
        firing.soon(lambda: firing.cluster.rolling_restart(ids))
