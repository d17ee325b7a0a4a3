"""The log directory of each replica, and the failure of a directory. Mirrors AssignmentsManager and
ReplicaManager.handleLogDirFailure (KIP-112, KIP-858).

A broker with several directories reports to the controller where each replica is, because the controller must know what
is gone with a directory. One directory more or less does not end a broker, but the last one does, and so does the one
of the metadata log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.control.events import LogDirFailed
from broker_sim.links.node_links import CONTROLLER_ID, LinkFailure
from broker_sim.log.log_directories import directory_path
from protocol_specs.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.broker import Broker
    from broker_sim.topic_partition import TopicPartition

_log = Logger()

RETRY_MS: Final = 500


class LogDirFailures:
    """The directories of one incarnation of a broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._unassigned: dict[TopicPartition, tuple[bytes, bytes]] = {}
        self._call: IDelayedCall | None = None
        storage = broker.storage
        storage.directory_failed = self.failed
        if len(storage.directories.names) > 1:
            storage.log_placed = self.placed

    def stop(self) -> None:
        """End with the incarnation of the broker."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

    # Assignments.

    def placed(self, topic_partition: TopicPartition, topic_id: bytes, directory_id: bytes) -> None:
        """Report a replica's directory to the controller, with all others of this loop iteration."""
        self._unassigned[topic_partition] = (topic_id, directory_id)
        self._send_in(0)

    def _send_in(self, delay_ms: float) -> None:
        if self._call is None and self._broker.alive:
            self._call = self._broker.reactor.callLater(delay_ms / 1000, self._send)

    def _send(self) -> None:
        self._call = None
        broker = self._broker
        sent, self._unassigned = self._unassigned, {}
        directories: dict[bytes, dict[bytes, TopicData]] = {}
        for (_, index), (topic_id, directory_id) in sent.items():
            topics = directories.setdefault(directory_id, {})
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id, partitions=[]))
            topic.partitions.append(PartitionData(partition_index=index))
        request = AssignReplicasToDirsRequest(
            broker_id=broker.id,
            broker_epoch=broker.broker_epoch,
            directories=[
                DirectoryData(id=directory_id, topics=list(topics.values()))
                for directory_id, topics in directories.items()
            ],
        )

        def failed(failure: Failure) -> None:
            failure.trap(LinkFailure)
            self._unassigned = {**sent, **self._unassigned}
            self._send_in(RETRY_MS)

        broker.links.send(broker.id, CONTROLLER_ID, request).addErrback(failed)

    # Failures.

    def failed(self, name: str) -> None:
        """Take the replicas of a failed directory offline and notify the controller, unless the broker has to end."""
        broker = self._broker
        if not broker.alive:
            return
        directories = broker.storage.directories
        lost = [each for each in broker.replica_manager.partitions if directories.of(each) == name]
        _log.warn("broker {id}: {name} is offline, and {count} replicas", id=broker.id, name=name, count=len(lost))
        broker.journal.append(
            LogDirFailed(
                time_us=broker.journal.now_us(), broker_id=broker.id, log_dir=name, partitions=tuple(map(str, lost))
            )
        )
        for topic_partition in lost:
            broker.replica_manager.roles.take_offline(topic_partition)
        if len(directories.offline) == len(directories.names) or name == self._metadata_log_dir():
            _log.error("broker {id} ends: it cannot go on without {name}", id=broker.id, name=name)
            broker.kill()
            return
        if self._unassigned:
            self.stop()
            self._send()
        timeout_ms = broker.config.values.get("log.dir.failure.timeout.ms")
        assert timeout_ms is None or isinstance(timeout_ms, int)
        broker.lifecycle.propagate_directory_failure(broker.storage.directory_id(name), timeout_ms)

    def _metadata_log_dir(self) -> str | None:
        """The directory of the metadata of a KRaft broker: `metadata.log.dir`, else the first of all."""
        config = self._broker.config
        if config.behaviour.zookeeper:
            return None
        configured = config.values.get("metadata.log.dir")
        if configured is None:
            return self._broker.storage.directories.names[0]
        return directory_path(str(configured))
