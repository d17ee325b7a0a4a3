"""The action `create_topic`: a new topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Fields, Settings, Text, Whole
from broker_sim.topic_spec import PARTITIONS_MAX, TopicSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True)
class CreateTopic(Action):
    """Create a topic."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        alone="topic",
        required=("topic",),
        topic=Text("the name of the topic", "orders"),
        partitions=Whole("the number of partitions, by default 1", 3, at_least=1, at_most=PARTITIONS_MAX),
        replication_factor=Whole("the number of replicas, by default 1", 3, at_least=1),
        config=Settings("the configurations of the topic", {"min.insync.replicas": 2}),
    )
    topic: str
    partitions: Drawable = 1
    replication_factor: Drawable = 1
    config: Mapping[str, str] = field(default_factory=dict)

    def fire(self, firing: Firing) -> None:
        """Create it in the next loop iteration."""
        spec = TopicSpec(
            name=self.topic,
            partitions=firing.whole("partitions", self.partitions),
            replication_factor=firing.whole("replication_factor", self.replication_factor),
            configs=self.config,
        )
        firing.soon(lambda: firing.cluster.admin.create_topic(spec))
