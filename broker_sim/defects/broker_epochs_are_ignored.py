"""A replica joins the ISR with the log that its broker had before it restarted.

A leader proposes an ISR with a follower that has caught up. Before the controller takes the proposal, the follower's
broker crashes with its machine, loses its unflushed records, and registers again. The proposal then adds a replica
without records. If it is elected next, acknowledged records are lost. Since KIP-903 (3.5) a proposal states the epoch
of each broker's registration, and the controller refuses that of an earlier one (INELIGIBLE_REPLICA, 107); leaders
compare the epoch with their metadata as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.controller.controller import Controller
from broker_sim.defects.defect import Defect
from broker_sim.replication.isr import ANY_BROKER_EPOCH
from broker_sim.replication.partition import Partition

if TYPE_CHECKING:
    from broker_sim.replication.isr import FollowerState
    from protocol_specs.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

__all__ = ["DEFECT"]


class EveryEpochMayJoin(Partition):
    """Lets a follower join whose broker is alive."""

    __slots__ = ()

    def _may_join_isr(self, follower: FollowerState) -> bool:
        broker = self._host.image.brokers.get(follower.broker_id)
        return broker is not None and broker.active


class ProposalsHaveNoEpochs(Controller):
    """Takes proposals as those of a release without the epochs of brokers."""

    def _serve_alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        for topic in request.topics:
            for partition in topic.partitions:
                for member in partition.new_isr_with_epochs:
                    member.broker_epoch = ANY_BROKER_EPOCH
        return super()._serve_alter_partition(request)


DEFECT: Final = Defect(
    name="broker-epochs-are-ignored",
    lesson=__doc__,
    source="KIP-903; KIP-841",
    affected="Apache Kafka before 3.5",
    anomalies=("fast-reboot-rejoin",),
    substitutes=(EveryEpochMayJoin, ProposalsHaveNoEpochs),
    since="3.5",
    needs_kraft=True,
)
