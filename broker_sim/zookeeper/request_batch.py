"""The requests of one step of the controller: per broker one LeaderAndIsr, one UpdateMetadata, and its StopReplicas.

Mirrors ControllerBrokerRequestBatch: in this order, in the versions of the release. Every LeaderAndIsr comes with an
UpdateMetadata to all live brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.broker_listeners import DEFAULT_LISTENER
from broker_sim.zookeeper.leader_and_isr import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_LEADER,
    LeaderAndIsr,
)
from protocol_specs.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    RequestLeaderAndIsrPartitionState,
)
from protocol_specs.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from protocol_specs.messages.update_metadata import (
    RequestUpdateMetadataPartitionState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.metadata.metadata_image import BrokerRegistration
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.controller_channels import ControllerChannelManager
    from broker_sim.zookeeper.controller_context import ControllerContext
    from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour

PLAINTEXT: Final = 0
"""The number of the security protocol."""
NO_BROKER_EPOCH: Final = -1
LEADER_AND_ISR_BY_TOPIC: Final = 2
UPDATE_METADATA_BY_TOPIC: Final = 5
STOP_REPLICA_BY_TOPIC: Final = 1
STOP_REPLICA_WITH_EPOCHS: Final = 3
BROKER_EPOCHS_SINCE: Final[Mapping[int, int]] = {
    LeaderAndIsrRequest.API_KEY: 2,
    StopReplicaRequest.API_KEY: 1,
    UpdateMetadataRequest.API_KEY: 5,
}


class ControllerBrokerRequestBatch:
    """`responded` is called with broker id, request and response, of LeaderAndIsr and StopReplica alone."""

    def __init__(
        self,
        *,
        controller_id: int,
        behaviour: ZooKeeperBehaviour,
        context: ControllerContext,
        channels: ControllerChannelManager,
        responded: Callable[[int, Any, Any], None],
    ) -> None:
        self._controller_id = controller_id
        self._behaviour = behaviour
        self._context = context
        self._channels = channels
        self._responded = responded
        self._leader_and_isr: dict[int, dict[TopicPartition, tuple[LeaderAndIsr, bool]]] = {}
        self._update_brokers: dict[int, None] = {}
        self._update_partitions: dict[TopicPartition, None] = {}
        self._stop_replica: dict[int, dict[TopicPartition, bool]] = {}

    def clear(self) -> None:
        """Send nothing of it."""
        self._leader_and_isr = {}
        self._update_brokers = {}
        self._update_partitions = {}
        self._stop_replica = {}

    def add_leader_and_isr(
        self, broker_ids: Iterable[int], topic_partition: TopicPartition, state: LeaderAndIsr, *, is_new: bool
    ) -> None:
        """Make these brokers leader or followers; and let everybody know."""
        for broker_id in broker_ids:
            states = self._leader_and_isr.setdefault(broker_id, {})
            known = states.get(topic_partition)
            states[topic_partition] = (state, is_new or (known is not None and known[1]))
        self.add_update_metadata(self._context.brokers, [topic_partition])

    def add_update_metadata(self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Send these brokers the live brokers and the state of these partitions."""
        self._update_brokers.update(dict.fromkeys(broker_ids))
        self._update_partitions.update(
            {each: None for each in partitions if each in self._context.leadership}  # the others have no state yet
        )

    def add_stop_replica(self, broker_id: int, topic_partition: TopicPartition, *, delete: bool) -> None:
        """Add a request to stop a replica, or to delete it."""
        stopped = self._stop_replica.setdefault(broker_id, {})
        stopped[topic_partition] = delete or stopped.get(topic_partition, False)

    def send(self) -> None:
        """Put everything into the queues of the brokers that are alive; the batch is empty then."""
        for broker_id, states in self._leader_and_isr.items():
            if broker_id in self._context.brokers:
                self._send(broker_id, self._leader_and_isr_request(broker_id, states), awaited=True)
        topics = self._update_topics() if self._update_brokers else []
        for broker_id in self._update_brokers:
            if broker_id in self._context.brokers:
                self._send(broker_id, self._update_metadata_request(broker_id, topics), awaited=False)
        for broker_id, stopped in self._stop_replica.items():
            if broker_id in self._context.brokers:
                for request in self._stop_replica_requests(broker_id, stopped):
                    self._send(broker_id, request, awaited=True)
        self.clear()

    def _send(self, broker_id: int, request: Any, *, awaited: bool) -> None:
        versions = {
            LeaderAndIsrRequest.API_KEY: self._behaviour.leader_and_isr_version,
            UpdateMetadataRequest.API_KEY: self._behaviour.update_metadata_version,
            StopReplicaRequest.API_KEY: self._behaviour.stop_replica_version,
        }

        def responded(response: Any) -> None:
            self._responded(broker_id, request, response)

        self._channels.send(
            broker_id, request, version=versions[request.API_KEY], responded=responded if awaited else None
        )

    def _broker_epoch(self, api_key: int, version: int, broker_id: int) -> int:
        if version < BROKER_EPOCHS_SINCE[api_key]:
            return NO_BROKER_EPOCH
        return self._context.brokers[broker_id].epoch

    # LeaderAndIsr.

    def _leader_and_isr_request(
        self, broker_id: int, states: Mapping[TopicPartition, tuple[LeaderAndIsr, bool]]
    ) -> LeaderAndIsrRequest:
        context = self._context
        version = self._behaviour.leader_and_isr_version
        leaders = dict.fromkeys(state.leader for state, _ in states.values())
        request = LeaderAndIsrRequest(
            controller_id=self._controller_id,
            controller_epoch=context.epoch,
            broker_epoch=self._broker_epoch(LeaderAndIsrRequest.API_KEY, version, broker_id),
            live_leaders=[
                LeaderAndIsrLiveLeader(broker_id=broker.id, host_name=broker.host, port=broker.port)
                for leader in leaders
                if (broker := context.brokers.get(leader)) is not None
            ],
        )
        topics: dict[str, LeaderAndIsrTopicState] = {}
        for topic_partition, (state, is_new) in states.items():
            name, index = topic_partition
            assignment = context.assignments[topic_partition]
            common: dict[str, Any] = {
                "partition_index": index,
                "controller_epoch": state.controller_epoch,
                "leader": state.leader,
                "leader_epoch": state.leader_epoch,
                "isr": list(state.isr),
                "partition_epoch": state.zk_version,
                "replicas": list(assignment.replicas),
                "is_new": is_new,
            }
            if version < LEADER_AND_ISR_BY_TOPIC:
                request.ungrouped_partition_states.append(LeaderAndIsrPartitionState(topic_name=name, **common))
                continue
            if name not in topics:
                topics[name] = LeaderAndIsrTopicState(
                    topic_name=name, topic_id=self._topic_id(name), partition_states=[]
                )
            topics[name].partition_states.append(
                RequestLeaderAndIsrPartitionState(
                    adding_replicas=list(assignment.adding), removing_replicas=list(assignment.removing), **common
                )
            )
        request.topic_states = list(topics.values())
        return request

    def _topic_id(self, name: str) -> bytes:
        return self._context.topic_ids.get(name, ZERO_UUID) if self._behaviour.topic_ids else ZERO_UUID

    # UpdateMetadata.

    def _update_topics(self) -> list[tuple[str, list[dict[str, Any]]]]:
        context = self._context
        topics: dict[str, list[dict[str, Any]]] = {}
        for topic_partition in self._update_partitions:
            name, index = topic_partition
            state = context.leadership[topic_partition]
            deleted = name in context.to_be_deleted
            replicas = context.replicas(topic_partition)
            topics.setdefault(name, []).append(
                {
                    "partition_index": index,
                    "controller_epoch": state.controller_epoch,
                    "leader": LEADER_DURING_DELETE if deleted else state.leader,
                    "leader_epoch": EPOCH_DURING_DELETE if deleted else state.leader_epoch,
                    "isr": list(state.isr),
                    "zk_version": state.zk_version,
                    "replicas": list(replicas),
                    "offline_replicas": [each for each in replicas if not context.is_online(topic_partition, each)],
                }
            )
        return list(topics.items())

    def _update_metadata_request(
        self, broker_id: int, topics: list[tuple[str, list[dict[str, Any]]]]
    ) -> UpdateMetadataRequest:
        context = self._context
        version = self._behaviour.update_metadata_version
        request = UpdateMetadataRequest(
            controller_id=self._controller_id,
            controller_epoch=context.epoch,
            broker_epoch=self._broker_epoch(UpdateMetadataRequest.API_KEY, version, broker_id),
            live_brokers=[_live_broker(broker, version) for broker in context.brokers.values()],
        )
        if version < UPDATE_METADATA_BY_TOPIC:
            request.ungrouped_partition_states = [
                UpdateMetadataPartitionState(topic_name=name, **each) for name, states in topics for each in states
            ]
        else:
            request.topic_states = [
                UpdateMetadataTopicState(
                    topic_name=name,
                    topic_id=self._topic_id(name),
                    partition_states=[RequestUpdateMetadataPartitionState(**each) for each in states],
                )
                for name, states in topics
            ]
        return request

    # StopReplica.

    def _stop_replica_requests(
        self, broker_id: int, stopped: Mapping[TopicPartition, bool]
    ) -> Iterable[StopReplicaRequest]:
        context = self._context
        version = self._behaviour.stop_replica_version
        epoch = self._broker_epoch(StopReplicaRequest.API_KEY, version, broker_id)
        if version >= STOP_REPLICA_WITH_EPOCHS:
            topics: dict[str, StopReplicaTopicState] = {}
            for topic_partition, delete in stopped.items():
                name, index = topic_partition
                state = context.leadership.get(topic_partition)
                if name in context.to_be_deleted:
                    leader_epoch = EPOCH_DURING_DELETE
                else:
                    leader_epoch = NO_LEADER if state is None else state.leader_epoch
                topic = topics.setdefault(name, StopReplicaTopicState(topic_name=name, partition_states=[]))
                topic.partition_states.append(
                    StopReplicaPartitionState(partition_index=index, leader_epoch=leader_epoch, delete_partition=delete)
                )
            yield StopReplicaRequest(
                controller_id=self._controller_id,
                controller_epoch=context.epoch,
                broker_epoch=epoch,
                topic_states=list(topics.values()),
            )
            return
        for delete in (True, False):
            partitions = [each for each, wanted in stopped.items() if wanted is delete]
            if partitions:
                request = StopReplicaRequest(
                    controller_id=self._controller_id,
                    controller_epoch=context.epoch,
                    broker_epoch=epoch,
                    delete_partitions=delete,
                )
                if version < STOP_REPLICA_BY_TOPIC:
                    request.ungrouped_partitions = [
                        StopReplicaPartitionV0(topic_name=name, partition_index=index) for name, index in partitions
                    ]
                else:
                    by_topic: dict[str, list[int]] = {}
                    for name, index in partitions:
                        by_topic.setdefault(name, []).append(index)
                    request.topics = [
                        StopReplicaTopicV1(name=name, partition_indexes=indexes) for name, indexes in by_topic.items()
                    ]
                yield request


def _live_broker(broker: BrokerRegistration, version: int) -> UpdateMetadataBroker:
    if version == 0:
        return UpdateMetadataBroker(id=broker.id, v0_host=broker.host, v0_port=broker.port)
    listeners = broker.listeners or {DEFAULT_LISTENER: (broker.host, broker.port)}
    endpoints = [
        UpdateMetadataEndpoint(port=port, host=host, listener=name, security_protocol=PLAINTEXT)
        for name, (host, port) in listeners.items()
    ]
    return UpdateMetadataBroker(id=broker.id, endpoints=endpoints, rack=broker.rack)
