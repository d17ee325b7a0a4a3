"""The action `elect_leader`: an election of a partition's leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import PARTITION, Broker, Fields, Truth

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef
    from broker_sim.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class ElectLeader(Action):
    """Elect the preferred replica of a partition, or `broker`; `unclean` allows one that is not in the ISR."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        alone="partition",
        required=("partition",),
        partition=PARTITION,
        broker=Broker("the replica that becomes the leader, in any form of a broker; without it the preferred one"),
        unclean=Truth(
            "true to allow a replica that is not in the ISR, as `kafka-leader-election --election-type unclean`"
        ),
    )
    partition: TopicPartition
    broker: BrokerRef | None = None
    unclean: bool = False

    def fire(self, firing: Firing) -> None:
        """Elect in the next loop iteration."""
        topic, partition = self.partition
        broker_id = None if self.broker is None else firing.resolve(self.broker)
        admin, unclean = firing.cluster.admin, self.unclean
        firing.soon(lambda: admin.elect_leader(topic, partition, broker_id=broker_id, unclean=unclean))
