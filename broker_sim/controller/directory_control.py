"""The brokers' log directories at the controller (KIP-858). Mirrors ReplicationControlManager's
handleAssignReplicasToDirs and handleDirectoriesOffline.

A replica whose directory is offline is lost to its partition until the broker starts again with the directory: it
leaves the ISR, leads nothing, and is reported as offline although its broker is alive. A broker with one directory
stops with its directory instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.controller.controller import Controller
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration


class DirectoryControl:
    """The log directory of each replica, as the brokers have reported it."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._assigned: dict[int, dict[tuple[bytes, int], bytes]] = {}
        self._offline: dict[int, dict[bytes, None]] = {}

    def assign(self, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
        """Take where replicas are on a broker. Mirrors ReplicationControlManager.handleAssignReplicasToDirs."""
        broker = self._controller.image.brokers.get(request.broker_id)
        if broker is None or broker.epoch != request.broker_epoch:
            return AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        assigned = self._assigned.setdefault(request.broker_id, {})
        responses = []
        for directory in request.directories:
            topics = []
            for topic in directory.topics:
                known = self._controller.image.topics_by_id.get(topic.topic_id)
                partitions = []
                for partition in topic.partitions:
                    index = partition.partition_index
                    error = ErrorCode.NONE
                    if known is None:
                        error = ErrorCode.UNKNOWN_TOPIC_ID
                    elif not 0 <= index < len(known.partitions):
                        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    elif request.broker_id not in known.partitions[index].replicas:
                        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
                    else:
                        assigned[topic.topic_id, index] = directory.id
                    partitions.append(ResponsePartitionData(partition_index=index, error_code=error))
                topics.append(ResponseTopicData(topic_id=topic.topic_id, partitions=partitions))
            responses.append(ResponseDirectoryData(id=directory.id, topics=topics))
        return AssignReplicasToDirsResponse(directories=responses)

    def went_offline(self, broker_id: int, directory_ids: tuple[bytes, ...]) -> None:
        """Take the failed directories of a heartbeat: the replicas in new ones leave ISR and leadership."""
        offline = self._offline.setdefault(broker_id, {})
        if all(directory_id in offline for directory_id in directory_ids):
            return
        offline.update(dict.fromkeys(directory_ids))
        image = self._controller.image
        lost = {
            topic_partition: replace(registration, lost_replicas=(*registration.lost_replicas, broker_id))
            for topic_partition, topic_id, registration in _replicas_of(image, broker_id)
            if broker_id not in registration.lost_replicas
            and self._directory_of(broker_id, topic_id, topic_partition.partition) in offline
        }
        broker = image.brokers[broker_id]
        online = tuple(directory_id for directory_id in broker.log_dirs if directory_id not in offline)
        self._controller.take_replicas(lost, replace(broker, log_dirs=online))

    def _directory_of(self, broker_id: int, topic_id: bytes, index: int) -> bytes | None:
        return self._assigned.get(broker_id, {}).get((topic_id, index))

    def found_again(self, image: MetadataImage, broker_id: int, log_dirs: tuple[bytes, ...]) -> MetadataImage:
        """A broker registers with these directories: the replicas in them, and those of unknown place, count again."""
        offline = self._offline.pop(broker_id, {})
        if not offline:
            return image
        still = {directory_id: None for directory_id in offline if directory_id not in log_dirs}
        if still:
            self._offline[broker_id] = still
        found = {
            topic_partition: replace(
                registration,
                lost_replicas=tuple(replica for replica in registration.lost_replicas if replica != broker_id),
                partition_epoch=registration.partition_epoch + 1,
            )
            for topic_partition, topic_id, registration in _replicas_of(image, broker_id)
            if broker_id in registration.lost_replicas
            and self._directory_of(broker_id, topic_id, topic_partition.partition) not in still
        }
        return image.with_partitions(found) if found else image


def _replicas_of(image: MetadataImage, broker_id: int) -> Iterator[tuple[TopicPartition, bytes, PartitionRegistration]]:
    for name, topic in image.topics.items():
        for index, registration in enumerate(topic.partitions):
            if broker_id in registration.replicas:
                yield TopicPartition(name, index), topic.topic_id, registration
