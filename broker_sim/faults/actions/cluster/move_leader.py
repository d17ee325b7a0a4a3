"""The action `move_leader`: another in-sync replica leads a partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import PARTITION, Broker, Fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef
    from broker_sim.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class MoveLeader(Action):
    """Elect another in-sync replica of a partition that runs: `to`, or one that the seed draws."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        alone="partition",
        required=("partition",),
        partition=PARTITION,
        to=Broker("the new leader, in any form of a broker"),
    )
    partition: TopicPartition
    to: BrokerRef | None = None

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The new leader."""
        return () if self.to is None else (self.to,)

    def fire(self, firing: Firing) -> None:
        """Elect in the next loop iteration. Raises RuleError when no other in-sync replica runs."""
        topic, partition = self.partition
        admin = firing.cluster.admin
        if self.to is None:
            leader = firing.cluster.leader_of(topic, partition)
            others = [replica for replica in admin.isr_of(topic, partition) if replica != leader]
            broker_id = firing.draw_broker(others, "to", f"other in-sync replica of {self.partition}")
        else:
            broker_id = firing.resolve(self.to, "to")
        firing.soon(lambda: admin.elect_leader(topic, partition, broker_id=broker_id))
