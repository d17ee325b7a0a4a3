"""The controller's requests at a broker: LeaderAndIsr assigns roles, UpdateMetadata metadata, StopReplica ends roles.

Mirrors ReplicaManager.becomeLeaderOrFollower, stopReplicas and maybeUpdateMetadataCache with the checks of KafkaApis
before them. Each of the three keeps the newest controller epoch, and rejects requests with an older one; roles follow
leader epochs alone. So a broker may know a leader that does not know yet that it leads, and the reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.metadata.metadata_image import PartitionRegistration
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.leader_and_isr import EPOCH_DURING_DELETE, NO_LEADER
from broker_sim.zookeeper.zookeeper_behaviour import id_of_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    ResponseLeaderAndIsrPartitionError,
)
from protocol_specs.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from protocol_specs.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_sim.replication.partition import Partition
    from broker_sim.replication.replica_roles import ReplicaRoles

NO_EPOCH: Final = -1
TOPIC_ERRORS_SINCE: Final = 5


class ControlledBroker(Protocol):
    """The part of a broker that the controller's requests change."""

    id: int

    @property
    def broker_epoch(self) -> int:
        """The epoch of its registration."""

    @property
    def roles(self) -> ReplicaRoles:
        """The partitions that it leads and follows."""

    def partition(self, topic_partition: TopicPartition) -> Partition | None:
        """A hosted partition."""

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Return True if a hosted partition is in a log directory that has failed."""

    def mark_offline(self, topic_partition: TopicPartition) -> None:
        """Mark a partition as one in a failed log directory."""

    def topic_configs(self, topic: str) -> Mapping[str, str]:
        """A topic's configurations, as far as they are known here."""

    def is_alive(self, broker_id: int) -> bool:
        """Return True if the last UpdateMetadata had that broker."""

    def metadata_updated(self, request: UpdateMetadataRequest) -> None:
        """Apply the controller's metadata of the cluster."""


class ControlRequests:
    """Serves the controller, and any client that sends its requests."""

    def __init__(
        self, broker: ControlledBroker, *, refuses_newer_epochs: bool, marks_foreign_partitions_offline: bool
    ) -> None:
        self._broker = broker
        self._marks_offline = marks_foreign_partitions_offline
        self._refuses_newer = refuses_newer_epochs
        self.controller_epoch = 0

    def _refusal(self, request: Any) -> ErrorCode | None:
        """Return the error of a request for a previous incarnation of this broker, or from an old controller."""
        own = self._broker.broker_epoch
        if request.broker_epoch != NO_EPOCH and request.broker_epoch < own:
            return ErrorCode.STALE_BROKER_EPOCH
        if self._refuses_newer and request.broker_epoch > own:
            # Kafka throws: its epoch cannot be lower than the one that the controller has seen. From 2.5 on it can.
            return ErrorCode.UNKNOWN_SERVER_ERROR
        if request.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = request.controller_epoch
        return None

    # LeaderAndIsr.

    def leader_and_isr(self, request: LeaderAndIsrRequest, version: int) -> LeaderAndIsrResponse:
        """Become leader or follower of each partition with a newer leader epoch than the local one."""
        refusal = self._refusal(request)
        if refusal is not None:
            return _refused_leader_and_isr(request, refusal, version)
        errors: dict[TopicPartition, ErrorCode] = {}
        ids: dict[str, bytes] = {}
        for name, topic_id, state in _leader_states(request):
            each = TopicPartition(name, state.partition_index)
            ids[name] = topic_id
            errors[each] = self._become(each, topic_id, state)
        return _leader_and_isr_response(errors, ids, version)

    def _become(self, topic_partition: TopicPartition, topic_id: bytes, state: Any) -> ErrorCode:
        broker = self._broker
        if broker.is_offline(topic_partition):
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = broker.partition(topic_partition)
        if partition is not None:
            gets_id = topic_id != ZERO_UUID and partition.topic_id == id_of_name(topic_partition.topic)
            if gets_id:
                partition.topic_id = topic_id
            if topic_id not in (ZERO_UUID, partition.topic_id):
                return ErrorCode.INCONSISTENT_TOPIC_ID
            if state.leader_epoch <= partition.leader_epoch:
                loses_id = (
                    topic_id == ZERO_UUID
                    and partition.topic_id != id_of_name(topic_partition.topic)
                    and state.leader != broker.id
                )
                known = state.leader_epoch == partition.leader_epoch and (gets_id or loses_id)
                return ErrorCode.NONE if known else ErrorCode.STALE_CONTROLLER_EPOCH
        if broker.id not in state.replicas or topic_partition.partition < 0:
            if self._marks_offline and partition is None:
                broker.mark_offline(topic_partition)
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition is None:
            identity = id_of_name(topic_partition.topic) if topic_id == ZERO_UUID else topic_id
            configs = broker.topic_configs(topic_partition.topic)
            try:
                partition = broker.roles.host(topic_partition, identity, configs)
            except LogDirectoryOffline:
                return ErrorCode.KAFKA_STORAGE_ERROR
        registration = PartitionRegistration(
            replicas=tuple(state.replicas),
            isr=tuple(state.isr),
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            # Versions of znodes grow with leader epochs, but a forger's need not.
            partition_epoch=max(state.partition_epoch, partition.partition_epoch + 1),
        )
        followed = registration.leader if broker.is_alive(registration.leader) else NO_LEADER
        broker.roles.take_role(partition, registration, fetch_from=followed)
        return ErrorCode.NONE

    # UpdateMetadata.

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Apply the metadata of the request."""
        refusal = self._refusal(request)
        if refusal is not None:
            return UpdateMetadataResponse(error_code=refusal)
        self._broker.metadata_updated(request)
        return UpdateMetadataResponse(error_code=ErrorCode.NONE)

    # StopReplica.

    def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Stop fetching these replicas, or delete them; a leader continues until it gets another role."""
        refusal = self._refusal(request)
        stopped = dict(_stopped(request))
        if refusal is not None:
            named = stopped if refusal is ErrorCode.UNKNOWN_SERVER_ERROR else {}
            return _stop_replica_response(dict.fromkeys(named, refusal), refusal)
        errors: dict[TopicPartition, ErrorCode] = {}
        for each, (leader_epoch, delete) in stopped.items():
            partition = self._broker.partition(each)
            if (
                partition is not None
                and leader_epoch not in (NO_EPOCH, EPOCH_DURING_DELETE)
                and leader_epoch < partition.leader_epoch
            ):
                errors[each] = ErrorCode.FENCED_LEADER_EPOCH
                continue
            if delete:
                self._broker.roles.drop(each, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            else:
                self._broker.roles.stop_fetching(each)
                if partition is not None:
                    partition.role_changed(None)
            errors[each] = ErrorCode.NONE
        return _stop_replica_response(errors, ErrorCode.NONE)


def _leader_states(request: LeaderAndIsrRequest) -> Iterator[tuple[str, bytes, Any]]:
    for ungrouped in request.ungrouped_partition_states:
        yield ungrouped.topic_name, ZERO_UUID, ungrouped
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield topic.topic_name, topic.topic_id, state


def _leader_and_isr_response(
    errors: Mapping[TopicPartition, ErrorCode], ids: Mapping[str, bytes], version: int
) -> LeaderAndIsrResponse:
    response = LeaderAndIsrResponse(error_code=ErrorCode.NONE)
    if version < TOPIC_ERRORS_SINCE:
        response.partition_errors = [
            LeaderAndIsrPartitionError(topic_name=name, partition_index=index, error_code=error)
            for (name, index), error in errors.items()
        ]
        return response
    topics: dict[bytes, LeaderAndIsrTopicError] = {}
    for (name, index), error in errors.items():
        topic_id = ids[name]
        if topic_id not in topics:
            topics[topic_id] = LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=[])
        topics[topic_id].partition_errors.append(
            ResponseLeaderAndIsrPartitionError(partition_index=index, error_code=error)
        )
    response.topics = list(topics.values())
    return response


def _refused_leader_and_isr(request: LeaderAndIsrRequest, error: ErrorCode, version: int) -> LeaderAndIsrResponse:
    """The error at the top and at every partition. Mirrors LeaderAndIsrRequest.getErrorResponse."""
    errors: dict[TopicPartition, ErrorCode] = {}
    ids: dict[str, bytes] = {}
    for name, topic_id, state in _leader_states(request):
        errors[TopicPartition(name, state.partition_index)] = error
        ids[name] = topic_id
    response = _leader_and_isr_response(errors, ids, version)
    response.error_code = error
    return response


def _stopped(request: StopReplicaRequest) -> Iterator[tuple[TopicPartition, tuple[int, bool]]]:
    for ungrouped in request.ungrouped_partitions:
        yield TopicPartition(ungrouped.topic_name, ungrouped.partition_index), (NO_EPOCH, request.delete_partitions)
    for topic in request.topics:
        for index in topic.partition_indexes:
            yield TopicPartition(topic.name, index), (NO_EPOCH, request.delete_partitions)
    for topic_state in request.topic_states:
        for state in topic_state.partition_states:
            each = TopicPartition(topic_state.topic_name, state.partition_index)
            yield each, (state.leader_epoch, state.delete_partition)


def _stop_replica_response(errors: Mapping[TopicPartition, ErrorCode], error: ErrorCode) -> StopReplicaResponse:
    return StopReplicaResponse(
        error_code=error,
        partition_errors=[
            StopReplicaPartitionError(topic_name=name, partition_index=index, error_code=each)
            for (name, index), each in errors.items()
        ],
    )
