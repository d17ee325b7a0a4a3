"""The transaction coordinator of one broker (KIP-98, KIP-890). Mirrors TransactionCoordinator and
TransactionStateManager.

It routes operations to the shards of `__transaction_state` that the broker leads, aborts transactions whose time is up,
and removes unused transactional ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.logger import Logger

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.coordinators.runtime.append_settings import AppendSettings
from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
from broker_sim.coordinators.runtime.load_settings import BadRecords, LoadSettings
from broker_sim.coordinators.runtime.shard import CoordinatorHost
from broker_sim.coordinators.transactions.marker_channel import MarkerChannel
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_set_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.controller.producer_ids import ProducerIdManager
    from broker_sim.coordinators.internal_partitions import InternalPartitions
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.pending_writes import PendingWrite
    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
    from broker_sim.coordinators.transactions.transaction_metadata import TransactionMetadata
    from broker_sim.coordinators.transactions.transaction_shard import TransactionShard
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.releases import Release

__all__ = ["TransactionCoordinator", "TransactionHost"]

TRANSACTION_VERSION: Final = "transaction.version"
_ABORT_INTERVAL: Final = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
_EXPIRY_INTERVAL: Final = "transaction.remove.expired.transaction.cleanup.interval.ms"
_EXPIRATION: Final = "transactional.id.expiration.ms"
_log = Logger()


class TransactionHost(CoordinatorHost, Protocol):
    """The parts of its broker that the coordinator uses."""

    links: NodeLinks
    producer_ids: ProducerIdManager
    release: Release
    protocol: Release


class _NoProducerId(CoordinatorError):
    """The broker waits for its next block of producer ids."""


class TransactionCoordinator:
    """The transactional ids whose partition of `__transaction_state` this broker leads."""

    topic: Final = Log.TRANSACTION_STATE.value

    def __init__(self, host: TransactionHost, internal_partitions: InternalPartitions) -> None:
        self._host = host
        self._internal_partitions = internal_partitions
        self._jobs: dict[str, IDelayedCall] = {}
        self._started_s = host.reactor.seconds()
        self._stopped = False
        self.markers = host.config.part_types.of(MarkerChannel)(host, self._complete_end)
        # Each operation has a batch of its own, and states the time-out of its write.
        settings = AppendSettings(linger_ms=0, write_timeout_ms=host.config.request_timeout_ms)
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            log=Log.TRANSACTION_STATE,
            host=host,
            make_shard=self._make_shard,
            settings=lambda: settings,
            follows_foreign_appends=True,  # such as the markers of an administrator
            required_acks=-1,
            load_settings=LoadSettings(
                bad_records=BadRecords.KEEP_WHAT_IS_BEFORE,
                ignores_later_versions=host.config.behaviour.later_transaction_records_are_ignored,
            ),
            may_load=self._has_all_partitions,
        )

    def _make_shard(self, context: ShardContext) -> TransactionShard:
        # Imported with the first transaction, which many a test never has.
        from broker_sim.coordinators.transactions.transaction_shard import TransactionShard

        shard_type = self._host.config.part_types.of(TransactionShard)
        return shard_type(context, self.markers, record_version=lambda: min(self.version, 1))

    def _has_all_partitions(self) -> bool:
        """Return True if the topic has as many partitions as this run of the broker spreads ids over.

        Mirrors validateTransactionTopicPartitionCountIsStable, which the loader of a partition calls. With ZooKeeper
        a broker leads a partition before its cache has the new topic, and counts in ZooKeeper.
        """
        topic = self._host.metadata_cache.image.topics.get(self.topic)
        return topic is None or len(topic.partitions) == self._internal_partitions.of(self.topic)

    @property
    def version(self) -> int:
        """The finalized level of `transaction.version`, 0 before that feature (KIP-890)."""
        return self._host.metadata_cache.image.finalized_features.get(TRANSACTION_VERSION, 0)

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that has the id, -1 before the coordinator starts."""
        partitions = self._internal_partitions.of(self.topic)
        return partition_for(transactional_id, partitions) if partitions else -1

    # Operations.

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None, client_id: str
    ) -> PendingWrite | Deferred[Any]:
        """Give a producer its id and epoch; see `TransactionShard.init_producer_id`."""

        def write(next_id: Callable[[], int]) -> PendingWrite:
            return self._write(
                transactional_id,
                "init-producer-id",
                lambda shard: shard.init_producer_id(
                    transactional_id,
                    timeout_ms,
                    expected,
                    client_id=client_id,
                    next_id=next_id,
                    server_version=self.version,
                ),
            )

        written = write(self._next_id)
        if not isinstance(written.error, _NoProducerId) or not self._host.config.behaviour.producer_ids_are_waited_for:
            return written
        waiting = self._host.producer_ids.generate_within(self._host.config.request_timeout_ms)
        return waiting.addCallback(lambda found: write(lambda: _as_id(found)).deferred)

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        client_version: int,
    ) -> PendingWrite:
        """Add partitions to a transaction."""
        return self._write(
            transactional_id,
            "add-partitions",
            lambda shard: shard.add_partitions(transactional_id, producer, partitions, client_version),
        )

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> list[bool]:
        """Return for each partition whether it is in the transaction. Raises CoordinatorError."""
        return self._shard_of(transactional_id).verify_partitions(transactional_id, producer, partitions)

    def end(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool, client_version: int
    ) -> PendingWrite:
        """Commit or abort a transaction."""
        return self._write(
            transactional_id,
            "end-transaction",
            lambda shard: shard.end(
                transactional_id, producer, commit=commit, client_version=client_version, next_id=self._next_id
            ),
        )

    def metadata_of(self, transactional_id: str) -> TransactionMetadata | None:
        """Return the state of an id, None if it is unknown. Raises CoordinatorError."""
        return self._shard_of(transactional_id).transactions.get(transactional_id)

    @property
    def is_loading(self) -> bool:
        """True while a shard is being loaded."""
        return self.runtime.is_loading

    @property
    def all_metadata(self) -> list[TransactionMetadata]:
        """The state of every id that this broker coordinates, in the order of Kafka's maps of partitions and ids."""
        partitions = self.runtime.active_partitions
        shards = [self.runtime.shard(partitions[place]) for place in hash_set_order(partitions)]
        return [metadata for shard in shards if shard is not None for metadata in shard.listed]

    def _write(
        self, transactional_id: str, name: str, operation: Callable[[TransactionShard], CoordinatorResult[Any]]
    ) -> PendingWrite:
        return self.runtime.write(self.partition_for(transactional_id), name, operation)

    def _shard_of(self, transactional_id: str) -> TransactionShard:
        return self.runtime.active_shard(self.partition_for(transactional_id))

    def _complete_end(self, partition: int, shard: TransactionShard, operation: Any) -> PendingWrite | None:
        """Run the last write of a transaction, unless the shard is not the present one any more."""
        if self.runtime.shard(partition) is not shard:
            return None
        return self.runtime.write(partition, "complete-transaction", operation)

    def _next_id(self) -> int:
        return _as_id(self._host.producer_ids.generate())

    # Roles.

    def elected(self) -> None:
        """Start the jobs: the broker leads a partition of the topic."""
        self._schedule(_ABORT_INTERVAL, self._abort_timed_out)
        self._schedule(_EXPIRY_INTERVAL, self._remove_expired)

    def resigned(self, partition: int) -> None:
        """Drop the markers of a partition that another broker coordinates now."""
        self.markers.drop(partition)

    def metadata_changed(self) -> None:
        """Send markers whose partitions had no leader."""
        self.markers.metadata_changed()

    def stop(self) -> None:
        """End with the process: no job runs any more."""
        self._stopped = True
        self.markers.stop()
        for job in self._jobs.values():
            job.cancel()
        self._jobs.clear()

    # Jobs. They run at multiples of their interval after the start of the broker, while there is something to do.

    def _schedule(self, interval: str, job: Callable[[], None]) -> None:
        interval_ms = self._host.config.values.get(interval)
        if self._stopped or interval in self._jobs or interval_ms is None:
            return
        assert isinstance(interval_ms, int)

        def run() -> None:
            del self._jobs[interval]
            if self.runtime.active_partitions:
                job()
                self._schedule(interval, job)

        interval_s = interval_ms / 1000
        running_s = self._host.reactor.seconds() - self._started_s
        self._jobs[interval] = self._host.reactor.callLater(interval_s - running_s % interval_s, run)

    def _abort_timed_out(self) -> None:
        for partition in self.runtime.active_partitions:
            shard = self.runtime.shard(partition)
            for metadata in [] if shard is None else shard.timed_out():
                self._abort(partition, metadata)

    def _abort(self, partition: int, metadata: TransactionMetadata) -> None:
        version = self.version
        self._write_in_background(
            partition,
            "abort-timed-out",
            lambda shard: shard.abort_timed_out(metadata, server_version=version, next_id=self._next_id),
        )

    def _remove_expired(self) -> None:
        expiration_ms = self._host.config.values.get(_EXPIRATION)
        assert isinstance(expiration_ms, int)
        for partition in self.runtime.active_partitions:
            self._write_in_background(partition, "remove-expired", lambda shard: shard.remove_expired(expiration_ms))

    def _write_in_background(
        self, partition: int, name: str, operation: Callable[[TransactionShard], CoordinatorResult[Any]]
    ) -> None:
        written = self.runtime.write(partition, name, operation)
        written.on_error(lambda error: _log.warn("{name} failed: {reason}", name=name, reason=error))


def _as_id(found: int | ErrorCode) -> int:
    if isinstance(found, ErrorCode):
        raise _NoProducerId(found)
    return found
