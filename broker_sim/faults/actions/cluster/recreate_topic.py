"""The action `recreate_topic`: a topic is deleted and created again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Text

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class RecreateTopic(Action):
    """Delete a topic and create it again: another topic id, no records, the same partitions and configurations."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Text("the name of the topic", "orders")
    topic: str

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        firing.soon(lambda: firing.cluster.admin.recreate_topic(self.topic))
