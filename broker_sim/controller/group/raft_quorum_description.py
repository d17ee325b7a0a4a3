"""The metadata quorum of several controllers in responses to clients: voters, leader, and brokers as observers.
Mirrors KafkaRaftClient.handleDescribeQuorumRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.controller.quorum_description import (
    LISTENER_NAME,
    METADATA_TOPIC,
    PORT_MAX,
    PORT_OFFSET,
    QuorumDescription,
    node_of,
)
from protocol_specs.messages.describe_quorum import (
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.controller.group.quorum_controller import QuorumController
    from broker_sim.quorum.leader_state import ReplicaProgress
    from protocol_specs.messages.describe_quorum import DescribeQuorumRequest

__all__ = ["RaftQuorumDescription"]

UNKNOWN: Final = -1


class RaftQuorumDescription(QuorumDescription):
    """The active controller's view of the voters; the progress of brokers comes from their fetches."""

    def __init__(self, controller: QuorumController, *, random: Random) -> None:
        super().__init__(controller, voters=controller.node.group.node_ids, random=random)
        self._node = controller.node
        self._directories = dict(controller.node.group.directory_ids)

    @property
    def leader_id(self) -> int:
        """The node itself: only the leader responds."""
        return self._node.id

    def describe(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        """Return the state of the metadata partition, if the request names it alone."""
        requested = [
            (topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in request.topics
        ]
        leader = self._node.replica.leader_state
        if requested != [(METADATA_TOPIC, [0])] or leader is None:
            return super().describe(request)
        self.remember_nodes()
        now_ms = self._node.controller.now_ms()
        image = self._node.controller.committed_image
        partition = ResponsePartitionData(
            partition_index=0,
            error_message="",
            leader_id=self.leader_id,
            leader_epoch=self._node.replica.epoch,
            high_watermark=leader.high_watermark,
            current_voters=[self._voter(leader.voters[voter], now_ms) for voter in self._voters],
            observers=self._observers_seen(sorted(image.brokers), now_ms),
        )
        return DescribeQuorumResponse(
            error_message="",
            topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
            nodes=[self._nodes[voter] for voter in self._voters if voter in self._nodes],
        )

    def _voter(self, progress: ReplicaProgress, now_ms: int) -> ReplicaState:
        is_self = progress.replica_id == self.leader_id
        return ReplicaState(
            replica_id=progress.replica_id,
            replica_directory_id=self._directories[progress.replica_id] if self._is_dynamic() else ZERO_UUID,
            log_end_offset=progress.end_offset,
            last_fetch_timestamp=now_ms if is_self else self._clock_ms(progress.last_fetch_ms, now_ms),
            last_caught_up_timestamp=now_ms if is_self else self._clock_ms(progress.last_caught_up_ms, now_ms),
        )

    def _clock_ms(self, reactor_ms: float, now_ms: int) -> int:
        if reactor_ms < 0:
            return UNKNOWN
        return now_ms - round(self._node.group.reactor.seconds() * 1000 - reactor_ms)

    def _observers_seen(self, broker_ids: Sequence[int], now_ms: int) -> list[ReplicaState]:
        seen = {broker_id: self._node.controller.metadata_progress(broker_id, now_ms) for broker_id in broker_ids}
        return [self._broker(broker_id, *progress) for broker_id, progress in seen.items() if progress[0] >= 0]

    def _broker(self, broker_id: int, log_end_offset: int, fetched_ms: int) -> ReplicaState:
        directories = self._node.controller.committed_image.brokers[broker_id].log_dirs
        return ReplicaState(
            replica_id=broker_id,
            # An observer has a directory id also where voters have none yet.
            replica_directory_id=directories[0] if directories else ZERO_UUID,
            log_end_offset=log_end_offset,
            last_fetch_timestamp=fetched_ms,
            last_caught_up_timestamp=fetched_ms,
        )

    def remember_nodes(self) -> None:
        """Take the addresses of registered controllers; those without listeners get the host of the first broker."""
        image = self._node.controller.committed_image
        brokers = image.brokers
        if all(voter in image.controllers for voter in self._voters):
            self._nodes = {voter: node_of(image.controllers[voter]) for voter in self._voters}
        elif brokers and not self._nodes:
            first = brokers[min(brokers)]
            for index, voter in enumerate(self._voters):
                port = min(first.port + PORT_OFFSET + index, PORT_MAX)
                self._nodes[voter] = Node(
                    node_id=voter, listeners=[Listener(name=LISTENER_NAME, host=first.host, port=port)]
                )
