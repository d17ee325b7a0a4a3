"""The action `upgrade`: brokers restart as another release, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER, Fields, ReleaseName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class Upgrade(Action):
    """Restart a broker, or without one all in order, as a release from 3.3 to 3.9 in KRaft mode.

    Features keep their levels, and brokers the versions among themselves, until `finalize` raises them. What the
    controller would refuse is the problem of the rule: a broker that does not support a finalized level.
    """

    needs: ClassVar = (Need.CLUSTER, Need.PROCESS)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("to",),
        alone="to",
        to=ReleaseName("the release, by its name or that of its line, in quotes", "3.9"),
        broker=BROKER,
    )
    to: str
    broker: BrokerRef | None = None

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The broker that restarts."""
        return () if self.broker is None else (self.broker,)

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        ids = None if self.broker is None else [firing.resolve(self.broker)]
        firing.soon(lambda: firing.cluster.admin.upgrade(self.to, ids))
