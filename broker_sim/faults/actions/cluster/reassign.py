"""The action `reassign`: a partition moves to other replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import PARTITION, Broker, Fields, ListOf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef
    from broker_sim.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Reassign(Action):
    """Begin to move a partition to other replicas, the preferred one first (KIP-455)."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("partition", "replicas"),
        partition=PARTITION,
        replicas=ListOf(Broker("a replica, in any form of a broker"), "the new replicas, the preferred one first"),
    )
    partition: TopicPartition
    replicas: tuple[BrokerRef, ...]

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The new replicas."""
        return self.replicas

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        topic, partition = self.partition
        replicas = [firing.resolve(each, f"replicas[{place}]") for place, each in enumerate(self.replicas)]
        firing.soon(lambda: firing.cluster.admin.reassign(topic, partition, replicas))
