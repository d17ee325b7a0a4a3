"""ISR changes of a leader: it writes ZooKeeper itself (ZkIsrManager), or sends AlterPartition (KIP-497, 2.7).

A leader that writes itself uses the version that it read last. After a write by another node its change is void, and it
retries at the next occasion: a deposed leader that has not learned of its successor never succeeds.
The controller learns of the change some seconds later (isr_change_notification), and notifies all other brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.replication.alter_partition_manager import AlterPartitionManager
from broker_sim.replication.isr_proposals import AlteredPartition
from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr
from broker_sim.zookeeper.messages import ZooKeeperError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import BrokerState
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.isr import IsrState
    from broker_sim.replication.partition import Partition
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.ensemble import ZooKeeper
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient
    from sim_runtime.interfaces import IReactor

PROPAGATION_CHECK_MS: Final = 2_500
PROPAGATION_BLACKOUT_MS: Final = 5_000
"""A change is reported when nothing has changed for this long."""
PROPAGATION_INTERVAL_MS: Final = 60_000
"""A change is reported after this long in any case."""


class ZkIsrManager:
    """Writes ISRs to ZooKeeper, one partition per request, and reports them to the controller at intervals."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        broker_id: int,
        client: ZooKeeperClient,
        controller_epoch: Callable[[], int],
    ) -> None:
        self._reactor = reactor
        self._broker_id = broker_id
        self._stopped = False
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
        self._stopped = True
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
            partition.proposal_finished(state, refused)
            return
        self._note_change(each)
        partition.proposal_finished(state, _altered(each, written))

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
    """Sends AlterPartition (once AlterIsr) to the broker that is controller: no epochs of brokers in this mode."""

    def _member(self, replica: int, broker_epoch: int) -> BrokerState:  # noqa: ARG002 - as with KRaft
        return BrokerState(broker_id=replica)


def _altered(topic_partition: TopicPartition, state: LeaderAndIsr) -> AlteredPartition:
    return AlteredPartition(
        topic_partition=topic_partition,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.zk_version,
    )
