"""How a leader changes its ISR: it writes ZooKeeper itself (ZkIsrManager), or asks the controller (KIP-497, 2.7).

A leader that writes itself knows the version that it read last. When somebody has written since, its change is void,
and it tries again at the next occasion: a leader that has been deposed without having heard of it tries in vain.
The controller hears of what was written some seconds later (isr_change_notification), and tells everybody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.controller.controller_messages import AlteredPartition
from broker_sim.replication.alter_partition_manager import AlterPartitionManager
from broker_sim.replication.broker_links import LinkFailure
from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr
from broker_sim.zookeeper.messages import ZooKeeperError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.replication.broker_links import BrokerLinks
    from broker_sim.replication.isr import IsrState
    from broker_sim.replication.partition import Partition
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.ensemble import ZooKeeper
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient
    from protocol_specs.messages.alter_partition import AlterPartitionResponse
    from sim_runtime.interfaces import IReactor

PROPAGATION_CHECK_MS: Final = 2_500
PROPAGATION_BLACKOUT_MS: Final = 5_000
"""A change is told once nothing has changed for this long."""
PROPAGATION_INTERVAL_MS: Final = 60_000
"""What keeps changing is told after this long all the same."""
RETRY_BACKOFF_MS: Final = 50
ISR_WITH_EPOCHS_SINCE: Final = 3


class ZkIsrManager(AlterPartitionManager):
    """Writes ISRs to ZooKeeper, one partition a request, and tells the controller of them now and then."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: BrokerLinks,
        broker_id: int,
        client: ZooKeeperClient,
        controller_epoch: Callable[[], int],
    ) -> None:
        super().__init__(reactor=reactor, links=links, broker_id=broker_id, broker_epoch=lambda: -1)
        self._client = client
        self._controller_epoch = controller_epoch
        self._changed: dict[TopicPartition, None] = {}
        self._last_change_s = self._last_propagation_s = 0.0
        self._propagation = RepeatingCall(reactor, PROPAGATION_CHECK_MS, self._maybe_propagate)

    def submit(self, partition: Partition, state: IsrState) -> None:
        """Write `state`; a write that is void leaves the ISR as it was."""
        if not self._stopped:
            Deferred.fromCoroutine(self._write(partition, state))

    def stop(self) -> None:
        """The broker is gone."""
        super().stop()
        self._propagation.stop()

    async def _write(self, partition: Partition, state: IsrState) -> None:
        each = partition.topic_partition
        wanted = LeaderAndIsr(
            leader=self._broker_id,
            leader_epoch=partition.leader_epoch,
            isr=state.proposed_isr,
            zk_version=partition.partition_epoch,
            controller_epoch=self._controller_epoch(),
        )

        def write(zookeeper: ZooKeeper, _: object) -> LeaderAndIsr | None:
            return zookeeper.write_states({each: wanted}, epoch_version=None).get(each)

        try:
            written: LeaderAndIsr | None = await self._client.request("ZooKeeperSetIsr", write)
        except ZooKeeperError:
            written = None
        if self._stopped:
            return
        if written is None:
            refused = AlteredPartition(topic_partition=each, error_code=ErrorCode.OPERATION_NOT_ATTEMPTED)
            partition.proposal_answered(state, refused)
            return
        self._note_change(each)
        partition.proposal_answered(state, _altered(each, written))

    def _note_change(self, topic_partition: TopicPartition) -> None:
        self._changed[topic_partition] = None
        self._last_change_s = self._reactor.seconds()
        if not self._propagation.running:
            self._propagation.start()

    def _maybe_propagate(self) -> None:
        now_s = self._reactor.seconds()
        quiet = now_s - self._last_change_s >= PROPAGATION_BLACKOUT_MS / 1000
        overdue = now_s - self._last_propagation_s >= PROPAGATION_INTERVAL_MS / 1000
        if not (quiet or overdue):
            return
        changed, self._changed = self._changed, {}
        self._last_propagation_s = now_s
        self._propagation.stop()
        Deferred.fromCoroutine(self._propagate(list(changed)))

    async def _propagate(self, changed: list[TopicPartition]) -> None:
        try:
            await self._client.request(
                "ZooKeeperNotifyIsrChange", lambda zookeeper, _: zookeeper.note_isr_changes(changed)
            )
        except ZooKeeperError:
            return  # the next session begins with an election, after which everything is read


class AlterIsrManager(AlterPartitionManager):
    """Sends AlterPartition (once AlterIsr) to the broker that is controller, as far as this broker knows."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: BrokerLinks,
        broker_id: int,
        broker_epoch: Callable[[], int],
        controller_id: Callable[[], int],
        version: int,
    ) -> None:
        super().__init__(reactor=reactor, links=links, broker_id=broker_id, broker_epoch=broker_epoch)
        self._controller_id = controller_id
        self._version = version
        self._again: IDelayedCall | None = None

    def stop(self) -> None:
        """The broker is gone."""
        super().stop()
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _send(self) -> None:
        self._timer = None
        sent = [entry for entry in self._unsent.values() if entry[0].isr_state is entry[1]]
        self._unsent.clear()
        if not sent:
            return
        controller_id = self._controller_id()
        self._in_flight = True
        if controller_id < 0:
            self._retry_soon(sent)
            return
        answer = self._links.send(self._broker_id, controller_id, self._request(sent), version=self._version)
        answer.addCallbacks(self._taken, self._lost, callbackArgs=(sent,), errbackArgs=(sent,))

    def _request(self, sent: list[tuple[Partition, IsrState]]) -> AlterPartitionRequest:
        topics: dict[bytes, TopicData] = {}
        for partition, state in sent:
            name, index = partition.topic_partition
            topic = topics.get(partition.topic_id)
            if topic is None:
                topic = topics[partition.topic_id] = TopicData(
                    topic_id=partition.topic_id, topic_name=name, partitions=[]
                )
            topic.partitions.append(
                PartitionData(
                    partition_index=index,
                    leader_epoch=partition.leader_epoch,
                    new_isr=[] if self._version >= ISR_WITH_EPOCHS_SINCE else list(state.proposed_isr),
                    new_isr_with_epochs=[BrokerState(broker_id=each) for each in state.proposed_isr]
                    if self._version >= ISR_WITH_EPOCHS_SINCE
                    else [],
                    partition_epoch=partition.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def _taken(self, response: AlterPartitionResponse, sent: list[tuple[Partition, IsrState]]) -> None:
        if self._stopped:
            return
        if response.error_code:
            self._retry_soon(sent)
            return
        answers = {
            (topic.topic_id, data.partition_index): data for topic in response.topics for data in topic.partitions
        }
        again = []
        for partition, state in sent:
            data = answers.get((partition.topic_id, partition.topic_partition.partition))
            if data is None or partition.proposal_answered(state, _answered(partition.topic_partition, data)):
                again.append((partition, state))
        if again:
            self._retry_soon(again)
        else:
            self._in_flight = False
            if self._unsent:
                self._schedule(0)

    def _lost(self, failure: Failure, sent: list[tuple[Partition, IsrState]]) -> None:
        failure.trap(LinkFailure)
        if not self._stopped:
            self._retry_soon(sent)

    def _retry_soon(self, sent: list[tuple[Partition, IsrState]]) -> None:
        def again() -> None:
            self._again = None
            self._in_flight = False
            for partition, state in sent:
                self._unsent.setdefault(partition.topic_partition, (partition, state))
            self._schedule(0)

        self._again = self._reactor.callLater(RETRY_BACKOFF_MS / 1000, again)


def _altered(topic_partition: TopicPartition, state: LeaderAndIsr) -> AlteredPartition:
    return AlteredPartition(
        topic_partition=topic_partition,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.zk_version,
    )


def _answered(topic_partition: TopicPartition, data: Any) -> AlteredPartition:
    return AlteredPartition(
        topic_partition=topic_partition,
        error_code=ErrorCode(data.error_code),
        leader=data.leader_id,
        leader_epoch=data.leader_epoch,
        isr=tuple(data.isr),
        partition_epoch=data.partition_epoch,
    )
