"""A leader's ISR proposals to the controller: one request at a time, for all waiting partitions. Mirrors
AlterPartitionManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.links.node_links import CONTROLLER_ID, LinkFailure
from broker_sim.replication.isr_proposals import AlteredPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from broker_sim.replication.isr import IsrState
    from broker_sim.replication.partition import Partition
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.messages.alter_partition import AlterPartitionResponse, ResponsePartitionData
    from sim_runtime.interfaces import IReactor

RETRY_BACKOFF_MS: Final = 50
FIRST_WITH_BROKER_EPOCHS: Final = 3
"""The version of AlterPartition that names the broker epoch of each member of an ISR (KIP-903)."""


class IsrManager(Protocol):
    """Changes an ISR for its leader, and reports the result to `partition.proposal_finished`."""

    def submit(self, partition: Partition, state: IsrState) -> None:
        """Request the ISR that `state` proposes."""

    def stop(self) -> None:
        """Stop: the broker is gone."""


class AlterPartitionManager:
    """At most one proposal waits per partition; a proposal that a newer state replaces is not sent again.

    `controller_id` returns the active controller, a negative id while none is known. A request without a response is
    retried.
    """

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: NodeLinks,
        broker_id: int,
        broker_epoch: Callable[[], int],
        controller_id: Callable[[], int] = lambda: CONTROLLER_ID,
        version: int = FIRST_WITH_BROKER_EPOCHS,
    ) -> None:
        self._controller_id = controller_id
        self._version = version
        self._reactor = reactor
        self._links = links
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._unsent: dict[TopicPartition, tuple[Partition, IsrState]] = {}
        self._in_flight = False
        self._timer: IDelayedCall | None = None
        self._stopped = False

    def submit(self, partition: Partition, state: IsrState) -> None:
        """Propose `state`; the result goes to `partition.proposal_finished`."""
        self._unsent[partition.topic_partition] = (partition, state)
        self._schedule(0)

    def stop(self) -> None:
        """Stop: the broker is gone."""
        self._stopped = True
        self._unsent.clear()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    def _schedule(self, delay_ms: int) -> None:
        if not (self._in_flight or self._stopped or self._timer is not None):
            self._timer = self._reactor.callLater(delay_ms / 1000, self._send)

    def _send(self) -> None:
        self._timer = None
        sent = [entry for entry in self._unsent.values() if entry[0].isr_state is entry[1]]
        self._unsent.clear()
        if not sent:
            return
        controller_id = self._controller_id()
        if controller_id < 0:
            self._retry(sent)
            return
        self._in_flight = True
        request = AlterPartitionRequest(
            broker_id=self._broker_id,
            broker_epoch=self._broker_epoch(),
            topics=self._proposals(sent),
        )
        responded = self._links.send(self._broker_id, controller_id, request, version=self._version)
        responded.addCallbacks(self._responded, self._failed, callbackArgs=(sent,), errbackArgs=(sent,))

    def _proposals(self, sent: list[tuple[Partition, IsrState]]) -> list[TopicData]:
        topics: dict[bytes, TopicData] = {}
        for partition, state in sent:
            proposal = partition.proposal(state)
            topic = topics.get(proposal.topic_id)
            if topic is None:
                name = proposal.topic_partition.topic
                topic = topics[proposal.topic_id] = TopicData(
                    topic_id=proposal.topic_id, topic_name=name, partitions=[]
                )
            with_epochs = self._version >= FIRST_WITH_BROKER_EPOCHS
            members = proposal.new_isr
            topic.partitions.append(
                PartitionData(
                    partition_index=proposal.topic_partition.partition,
                    leader_epoch=proposal.leader_epoch,
                    partition_epoch=proposal.partition_epoch,
                    new_isr=[] if with_epochs else [replica for replica, _ in members],
                    new_isr_with_epochs=[self._member(*member) for member in members] if with_epochs else [],
                )
            )
        return list(topics.values())

    def _member(self, replica: int, broker_epoch: int) -> BrokerState:
        return BrokerState(broker_id=replica, broker_epoch=broker_epoch)

    def _responded(self, response: AlterPartitionResponse, sent: list[tuple[Partition, IsrState]]) -> None:
        self._in_flight = False
        if self._stopped:
            return
        if response.error_code:
            self._retry(sent)
            return
        results = {
            (topic.topic_id, result.partition_index): result for topic in response.topics for result in topic.partitions
        }
        again = []
        for partition, state in sent:
            result = results.get((partition.topic_id, partition.topic_partition.partition))
            if result is None or partition.proposal_finished(state, _altered(partition, result)):
                again.append((partition, state))
        if self._unsent:
            self._schedule(0)
        if again:
            self._retry(again)

    def _failed(self, failure: Failure, sent: list[tuple[Partition, IsrState]]) -> None:
        failure.trap(LinkFailure)
        self._in_flight = False
        if not self._stopped:
            self._retry(sent)

    def _retry(self, sent: list[tuple[Partition, IsrState]]) -> None:
        for partition, state in sent:
            self._unsent.setdefault(partition.topic_partition, (partition, state))
        self._schedule(RETRY_BACKOFF_MS)


def _altered(partition: Partition, result: ResponsePartitionData) -> AlteredPartition:
    return AlteredPartition(
        topic_partition=partition.topic_partition,
        error_code=ErrorCode(result.error_code),
        leader=result.leader_id,
        leader_epoch=result.leader_epoch,
        isr=tuple(result.isr),
        partition_epoch=result.partition_epoch,
    )
