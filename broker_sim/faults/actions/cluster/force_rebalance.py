"""The action `force_rebalance`: the members of a group share its partitions out anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Text

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class ForceRebalance(Action):
    """Let the coordinator begin a rebalance of a group with members: those of a classic group join again.

    A consumer group (KIP-848) gets its next epoch: its members go to it without a change of their partitions.
    """

    needs: ClassVar = (Need.CLUSTER,)
    on_cluster: ClassVar = True
    form: ClassVar = Text("the group id", "billing")
    group: str

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        firing.soon(lambda: firing.cluster.admin.force_rebalance(self.group))
