"""The share partitions of one broker, their sessions and the fetches that wait for records.

Mirrors SharePartitionManager and SharePartitionCache (KIP-932).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.internet.defer import Deferred, succeed

from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from broker_sim.coordinators.share.share_persister import PersisterHost, SharePersister
from broker_sim.replication.purgatory import ExpirationQueue
from broker_sim.share_partitions.delayed_share_fetch import DelayedShareFetch
from broker_sim.share_partitions.latest_offsets import LatestOffsets
from broker_sim.share_partitions.share_error import ShareError, share_error
from broker_sim.share_partitions.share_group_settings import SettingsHost, ShareGroupSettings
from broker_sim.share_partitions.share_partition import Phase, SharePartition, SharePartitionHost
from broker_sim.share_partitions.share_sessions import SessionKey, ShareSessions, TopicIdPartition
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.replication.partition import Partition
    from broker_sim.share_partitions.acknowledgement import AcknowledgedBatch
    from broker_sim.share_partitions.delayed_share_fetch import ShareFetch
    from protocol_specs.messages.share_fetch import PartitionData

__all__ = ["SHARE_VERSION", "SharePartitionManager", "shares"]

SHARE_VERSION: Final = "share.version"
"""The feature whose level 1 turns share groups on."""

_GONE: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def shares(image: MetadataImage) -> bool:
    """Return True if the cluster has share groups."""
    return image.finalized_features.get(SHARE_VERSION, 0) > 0


class _Idle:
    """A wait for nothing but its deadline."""

    def __init__(self) -> None:
        self.completed = False
        self.deferred: Deferred[None] = Deferred()

    def expire(self) -> None:
        self.completed = True
        self.deferred.callback(None)


class ManagerHost(PersisterHost, SettingsHost, SharePartitionHost, Protocol):
    """The parts of its broker that the manager uses."""

    def after_next_request(self, action: Callable[[], object]) -> None:
        """Run `action` at the end of the next request."""


class SharePartitionManager:
    """One SharePartition per share group and partition that this broker leads and a member has fetched."""

    def __init__(self, host: ManagerHost) -> None:
        self.sessions = ShareSessions()
        self.settings = ShareGroupSettings(host)
        self.persister = SharePersister(host)
        self.latest_offsets = LatestOffsets(host)
        self.partitions: dict[SharePartitionKey, SharePartition] = {}
        self._host = host
        self._expirations = ExpirationQueue(host.reactor)
        self._waiting: dict[DelayedShareFetch, None] = {}
        self._watched: dict[TopicPartition, Partition] = {}
        self._woken: dict[SharePartitionKey, None] = {}
        self._flush_call: IDelayedCall | None = None
        self._stopped = False

    # Fetches.

    def fetch(
        self, fetch: ShareFetch, partitions: Sequence[tuple[TopicIdPartition, str]]
    ) -> Deferred[dict[TopicIdPartition, PartitionData]]:
        """Acquire records of partitions, each with its topic's name. Mirrors processShareFetch."""
        if not partitions or fetch.max_records == 0 or fetch.params.max_bytes == 0:
            return succeed({})
        found: dict[TopicIdPartition, SharePartition] = {}
        for key, topic in partitions:
            try:
                found[key] = self._partition(SharePartitionKey(fetch.group_id, *key), topic)
            except ShareError as error:
                fetch.errors[key] = error
                continue
            self._initialize(found[key], key, fetch)
            if key in fetch.errors:
                del found[key]
        operation = DelayedShareFetch(fetch, found, self._host.replica_manager)
        if not found:
            operation.expire()
        elif operation.try_complete():
            self._wake_all(operation.acquired)
        elif fetch.params.max_wait_ms <= 0:
            operation.expire()  # at once: no state of a share partition that begins is read in no time
        else:
            self._waiting[operation] = None
            self._expirations.add(operation, fetch.params.max_wait_ms)
            operation.deferred.addBoth(self._completed, operation)
        return operation.deferred

    def _completed(
        self, result: dict[TopicIdPartition, PartitionData], operation: DelayedShareFetch
    ) -> dict[TopicIdPartition, PartitionData]:
        self._waiting.pop(operation, None)
        if operation.acquired and self._waiting:
            # Others may acquire the records that it leaves; no thread of Kafka looks before the end of a request.
            self._host.after_next_request(lambda: self._wake_all(operation.acquired))
        return result

    def _wake_all(self, keys: Iterable[SharePartitionKey]) -> None:
        for key in keys:
            self._wake(key)

    def _partition(self, key: SharePartitionKey, topic: str) -> SharePartition:
        known = self.partitions.get(key)
        if known is not None:
            return known
        topic_partition = TopicPartition(topic, key.partition)
        hosted = self._host.replica_manager.get_partition(topic_partition)
        if isinstance(hosted, ErrorCode):
            raise ShareError(hosted)
        if not hosted.is_leader:
            raise ShareError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition = self.partitions[key] = SharePartition(
            key,
            topic_partition,
            hosted.leader_epoch,
            host=self._host,
            settings=self.settings,
            persister=self.persister,
            expirations=self._expirations,
            changed=self._wake,
            # At once: a fetch that waits gets the records of the first lock, not those of all that expire together.
            lock_expired=self._check_waiting,
        )
        if self._watched.get(topic_partition) is not hosted:
            self._watched[topic_partition] = hosted
            hosted.high_watermark_listeners.append(lambda _: self._wake_groups(topic_partition))
        return partition

    def _initialize(self, partition: SharePartition, key: TopicIdPartition, fetch: ShareFetch) -> None:
        if partition.phase is not Phase.EMPTY:
            return

        def failed(error: ShareError) -> None:
            self._remove(partition)
            fetch.errors[key] = error

        initialized = partition.initialize()
        initialized.addErrback(share_error).addCallback(lambda error: None if error is None else failed(error))
        # At once: a fetch that waits for several partitions gets the records of the first that is initialized.
        initialized.addCallback(lambda _: self._check_waiting(partition.key))

    def _wake_groups(self, topic_partition: TopicPartition) -> None:
        """Check the fetches of all groups that wait for a partition."""
        for key, partition in self.partitions.items():
            if partition.topic_partition == topic_partition:
                self._wake(key)

    def _wake(self, key: SharePartitionKey) -> None:
        """Check the fetches that wait for a share partition, in the next iteration of the reactor."""
        if self._stopped or not self._waiting:
            return
        self._woken[key] = None
        if self._flush_call is None:
            self._flush_call = self._host.reactor.callLater(0, self._flush)

    def _check_waiting(self, key: SharePartitionKey) -> None:
        """Check the fetches that wait for a share partition.

        Kafka checks them before an acknowledgement or a release is stored, and again only if the start offset moves:
        released records wait for the next fetch, or for the deadline of the waiting one.
        """
        for operation in list(self._waiting):
            if any(partition.key == key for partition in operation.partitions.values()):
                operation.try_complete()

    def _flush(self) -> None:
        self._flush_call = None
        woken, self._woken = self._woken, {}
        for operation in list(self._waiting):
            if any(partition.key in woken for partition in operation.partitions.values()):
                operation.try_complete()

    def idle(self, delay_ms: int) -> Deferred[None]:
        """Wait for `delay_ms`. Mirrors createIdleShareFetchTimerTask."""
        operation = _Idle()
        self._expirations.add(operation, delay_ms)
        return operation.deferred

    # Acknowledgements and sessions.

    def acknowledge(
        self, session: SessionKey, acknowledged: Mapping[TopicIdPartition, Sequence[AcknowledgedBatch]]
    ) -> dict[TopicIdPartition, Deferred[ShareError | None]]:
        """Acknowledge records of a member; each Deferred fires with the error of its partition, or None."""
        results: dict[TopicIdPartition, Deferred[ShareError | None]] = {}
        for key, batches in acknowledged.items():
            partition = self.partitions.get(SharePartitionKey(session.group_id, *key))
            if partition is None:
                results[key] = succeed(ShareError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                self._check_waiting(partition.key)
                stored = partition.acknowledge(session.member_id, batches)
                results[key] = stored.addErrback(share_error).addCallback(self._stored, partition)
        return results

    def _stored(self, error: ShareError | None, partition: SharePartition) -> ShareError | None:
        if error is not None and error.error_code in _GONE:
            self._remove(partition)
        return error

    def release_session(self, key: SessionKey) -> None:
        """Close a session, and release the records that its member has acquired. Mirrors releaseSession."""
        session = self.sessions.pop(key)
        if session is None:
            return
        for topic_partition in session.partitions:
            partition = self.partitions.get(SharePartitionKey(key.group_id, *topic_partition))
            if partition is not None:
                self._check_waiting(partition.key)
                released = partition.release(key.member_id)
                released.addErrback(share_error).addCallback(self._stored, partition)

    def connection_closed(self, key: SessionKey, connection_id: str) -> None:
        """End the last session that a connection has opened; forget a group without sessions.

        Mirrors ClientConnectionDisconnectListener. The session may have ended before, or go on over another connection.
        """
        if key in [session.key for session in self.sessions.of_connection(connection_id)]:
            self.release_session(key)
        if not self.sessions.of_group(key.group_id):
            for partition in [each for known, each in self.partitions.items() if known.group_id == key.group_id]:
                self._remove(partition)

    # Roles and metadata.

    def elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        """A partition is led: its share partitions begin with the first fetch."""

    def resigned(self, topic_partition: TopicPartition) -> None:
        """Forget the share partitions of a partition that the broker does not lead any more."""
        self._watched.pop(topic_partition, None)
        for partition in [each for each in self.partitions.values() if each.topic_partition == topic_partition]:
            self._remove(partition)

    def apply_image(self, new: MetadataImage) -> None:
        """Forget everything when share groups are turned off. Mirrors onShareVersionToggle."""
        if self.partitions and not shares(new):
            self.sessions.clear()
            for partition in list(self.partitions.values()):
                self._remove(partition)

    def _remove(self, partition: SharePartition) -> None:
        partition.fence()
        if self.partitions.get(partition.key) is partition:
            del self.partitions[partition.key]
        self._wake(partition.key)

    def stop(self) -> None:
        """End with the process: nothing fires any more."""
        self._stopped = True
        self._expirations.stop()
        self.persister.stop()
        if self._flush_call is not None:
            self._flush_call.cancel()
            self._flush_call = None
