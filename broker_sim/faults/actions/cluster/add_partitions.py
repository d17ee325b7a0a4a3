"""The action `add_partitions`: a topic grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Fields, Text, Whole
from broker_sim.topic_spec import PARTITIONS_MAX

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True)
class AddPartitions(Action):
    """Add `count` partitions to a topic (CreatePartitions): keys move to other partitions."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        alone="topic",
        required=("topic",),
        topic=Text("the name of the topic", "orders"),
        count=Whole("how many partitions are added, by default 1", 2, at_least=1, at_most=PARTITIONS_MAX),
    )
    topic: str
    count: Drawable = 1

    def fire(self, firing: Firing) -> None:
        """Add them in the next loop iteration."""
        count = firing.whole("count", self.count)
        firing.soon(lambda: firing.cluster.admin.add_partitions(self.topic, count))
