"""A broker's replicas: appends, fetches, offsets. Mirrors ReplicaManager.

An operation that waits for acknowledgements completes within the event that ends it. Parked fetches complete in the
next flush, one `callLater(0)` per loop iteration, so that one response carries the batches of many appends and no
handler runs inside another one. An append with acks=all completes the fetches of followers at once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import (
    AppendOrigin,
    OffsetOutOfRange,
    PartitionAppend,
    RecordsRefused,
)
from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.metrics.broker_topic_stats import BrokerTopicStats
from broker_sim.quotas.replication_quotas import ReplicationQuotas
from broker_sim.replication.append_events import note_append, note_completion
from broker_sim.replication.delayed_delete_records import DelayedDeleteRecords, delete_on_leader
from broker_sim.replication.delayed_fetch import DelayedFetch
from broker_sim.replication.delayed_produce import DelayedProduce
from broker_sim.replication.follower_versions import follower_versions
from broker_sim.replication.incomplete_first_batch import note_incomplete_read
from broker_sim.replication.offset_queries import last_offset_for_leader_epoch, list_offset
from broker_sim.replication.purgatory import ExpirationQueue
from broker_sim.replication.refused_appends import refused_append
from broker_sim.replication.replica_roles import ReplicaRoles
from broker_sim.replication.replica_selector import NO_REPLICA, preferred_read_replica, replica_selector
from broker_sim.replication.requests import (
    NO_EPOCH,
    EpochEndOffsetResult,
    FetchIsolation,
    FetchParams,
    OffsetResult,
    PartitionFetch,
    PartitionFetchResult,
)
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.clock import BrokerClock
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.log.replica_storage import ReplicaStorage
    from broker_sim.metadata.metadata_cache import MetadataCache
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.replication.alter_partition_manager import IsrManager
    from broker_sim.replication.delayed_delete_records import DeleteResults
    from broker_sim.replication.partition import Partition
    from broker_sim.replication.purgatory import DelayedOperation
    from broker_sim.replication.replica_fetch_session import ReplicaFetchSession
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.records.lone_batch import RecordSet
    from sim_runtime.interfaces import IReactor

_NONE: Final = ErrorCode.NONE
_COORDINATOR: Final = AppendOrigin.COORDINATOR


class ReplicaManager:
    """The partitions that one run of a broker hosts, by name; wired by Broker, gone with its process."""

    def __init__(
        self,
        *,
        broker_id: int,
        broker_epoch: int = -1,
        config: BrokerConfig,
        reactor: IReactor,
        clock: BrokerClock,
        metadata_cache: MetadataCache,
        storage: ReplicaStorage,
        links: NodeLinks,
        journal: Journal,
        alter_partition: IsrManager,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.config = config
        self.reactor = reactor
        self.journal = journal
        self.links = links
        self.alter_partition = alter_partition
        self.replica_lag_time_max_ms = config.replica_lag_time_max_ms
        self.replica_selector = replica_selector(config)
        self.follower_versions = follower_versions(config.release)
        self.now_ms = clock.now_ms
        self.high_watermark_waits_for_min_isr = config.behaviour.high_watermark_waits_for_min_isr
        self.min_isr_within_replicas = config.behaviour.min_isr_within_replicas
        self.replication_quotas = ReplicationQuotas(config, broker_id=broker_id, now_ms=clock.now_ms)
        self.partitions: dict[TopicPartition, Partition] = {}
        self.offline: dict[TopicPartition, None] = {}
        """Hosted in a log directory that has failed. Mirrors HostedPartition.Offline."""
        self.topic_stats = BrokerTopicStats()
        self._metadata_cache = metadata_cache
        self._expirations = ExpirationQueue(reactor)
        self._woken_fetches: dict[DelayedFetch, None] = {}
        self._woken_sessions: dict[ReplicaFetchSession, None] = {}
        self._appending = False
        self._flush_call: IDelayedCall | None = None
        self._stopped = False
        self.roles = ReplicaRoles(self, storage)

    @property
    def image(self) -> MetadataImage:
        """The metadata that the broker has applied."""
        return self._metadata_cache.image

    def apply_image(self, old: MetadataImage, new: MetadataImage) -> None:
        """Become leader or follower of changed partitions, drop deleted ones, start and stop fetchers."""
        self.roles.apply_image(old, new)

    def stop(self) -> None:
        """Stop with the process: no operation fetches or expires any more, and waiting Deferreds never fire."""
        self._stopped = True
        self._expirations.stop()
        self.roles.stop()
        self.alter_partition.stop()
        self._woken_fetches.clear()
        self._woken_sessions.clear()
        if self._flush_call is not None:
            self._flush_call.cancel()
            self._flush_call = None

    # Partitions.

    def get_partition(self, topic_partition: TopicPartition, topic_id: bytes | None = None) -> Partition | ErrorCode:
        """Return the hosted partition, or Kafka's error for a missing one. Mirrors getPartitionOrError."""
        partition = self.partitions.get(topic_partition)
        if partition is not None:
            if topic_id is not None and topic_id != partition.topic_id:
                return ErrorCode.INCONSISTENT_TOPIC_ID
            return partition
        return self._missing_partition_error(topic_partition)

    def _missing_partition_error(self, topic_partition: TopicPartition) -> ErrorCode:
        if topic_partition in self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self.image.partition(*topic_partition) is not None:
            # Another broker hosts it, or this one will soon: the client's metadata is stale, or ours.
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def current_leader(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """Return the leader id and epoch of this broker's metadata, (-1, -1) for an unknown partition (KIP-951)."""
        partition = self.partitions.get(topic_partition)
        if partition is not None:
            return partition.leader_id, partition.leader_epoch
        registration = self.image.partition(*topic_partition)
        return (-1, -1) if registration is None else (registration.leader, registration.leader_epoch)

    # Appends.

    def append_records(
        self,
        request_id: int,
        timeout_ms: int,
        required_acks: int,
        entries: Sequence[tuple[TopicPartition, RecordSet | None]],
        on_local_append: Callable[[list[PartitionAppend]], None] | None = None,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guards: Mapping[TopicPartition, object] | None = None,
        transaction_version: int = 0,
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        """Append as leader; the results are in the order of `entries`. `required_acks` is -1, 0 or 1.

        A plain list when nothing has to be waited for (acks 0 or 1, or every partition failed, or the high watermark
        is there already); else a Deferred that fires when it is, or with REQUEST_TIMED_OUT after `timeout_ms`.
        `on_local_append` is called once, after the local appends and before any wait. `guards` are those of the
        partitions whose transactions were verified. A killed broker never fires the Deferred.
        """
        results: list[PartitionAppend] = []
        self._appending = True
        try:
            for topic_partition, records in entries:
                partition = self.partitions.get(topic_partition)
                if partition is None or records is None:
                    results.append(self._not_appended(topic_partition, partition))
                else:
                    guard = None if guards is None else guards.get(topic_partition)
                    results.append(
                        self._append(partition, records, required_acks, request_id, origin, transaction_version, guard)
                    )
        finally:
            self._appending = False
        if on_local_append is not None:
            on_local_append(results)
        return self._complete_append(results, timeout_ms, required_acks, request_id)

    def append_to_partition(
        self,
        request_id: int,
        timeout_ms: int,
        required_acks: int,
        partition: Partition,
        records: bytes | memoryview,
        guard: object | None = None,
    ) -> PartitionAppend | Deferred[list[PartitionAppend]]:
        """Append to one hosted partition. Equal to `append_records` with one entry, at half the cost."""
        self._appending = True
        try:
            result = self._append(partition, records, required_acks, request_id, guard=guard)
        finally:
            self._appending = False
        if (
            self._woken_sessions
            or self._woken_fetches
            or self.journal.wants_batches
            or (required_acks == -1 and partition.enough_replicas_reached(result.last_offset + 1) is not _NONE)
        ):
            completed = self._complete_append([result], timeout_ms, required_acks, request_id)
            return result if isinstance(completed, list) else completed
        return result

    def append_markers(
        self, timeout_ms: int, markers: Mapping[TopicPartition, RecordSet], transaction_version: int
    ) -> dict[TopicPartition, ErrorCode] | Deferred[dict[TopicPartition, ErrorCode]]:
        """Append control batches as the transaction coordinator, with acks=all; internal topics are allowed.

        A plain mapping when nothing has to be waited for, else a Deferred that fires when the batches are replicated,
        or with REQUEST_TIMED_OUT after `timeout_ms`. Mirrors the call of appendRecords in handleWriteTxnMarkersRequest.
        """
        completed = self.append_records(
            -1,
            timeout_ms,
            -1,
            list(markers.items()),
            origin=_COORDINATOR,
            transaction_version=transaction_version,
        )
        return _errors_of(completed) if isinstance(completed, list) else completed.addCallback(_errors_of)

    def append_as_coordinator(
        self,
        topic_partition: TopicPartition,
        records: RecordSet,
        *,
        required_acks: int,
        transaction_version: int = 0,
        guard: object | None = None,
    ) -> PartitionAppend:
        """Append a coordinator's batch, without a wait also with `required_acks` -1, which an ISR below
        min.insync.replicas refuses. Mirrors CoordinatorPartitionWriter.append.
        """
        partition = self.partitions.get(topic_partition)
        if partition is None:
            return self._not_appended(topic_partition, partition)
        self._appending = True
        try:
            result = self._append(partition, records, required_acks, -1, _COORDINATOR, transaction_version, guard)
        finally:
            self._appending = False
        if self._woken_sessions:
            self._complete_sessions()
        if self._woken_sessions or self._woken_fetches:
            self._plan_flush()
        return result

    def _append(
        self,
        partition: Partition,
        records: RecordSet,
        required_acks: int,
        request_id: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
        guard: object | None = None,
    ) -> PartitionAppend:
        try:
            result = partition.append_records_to_leader(
                records, required_acks, origin, transaction_version=transaction_version, guard=guard
            )
        except RecordsRefused as refused:
            return refused_append(self.broker_id, partition, refused)
        stats = partition.topic_stats
        stats.produce_requests += 1
        stats.messages_in += result.records_count
        stats.bytes_in += len(records)
        if self.journal.wants_batches:
            note_append(self, result, len(records), request_id)
        return result

    def _complete_append(
        self, results: list[PartitionAppend], timeout_ms: int, required_acks: int, request_id: int
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        """Wake the fetches that the append has satisfied, then wait for replicas if acks=all."""
        if self._woken_sessions and required_acks == -1 and timeout_ms > 0:
            self._complete_sessions()
        if self._woken_sessions or self._woken_fetches:
            self._plan_flush()
        if required_acks == -1:
            return self._await_replicas(results, timeout_ms, request_id)
        if self.journal.wants_batches:
            for result in results:
                note_completion(self, result, required_acks, request_id)
        return results

    def _not_appended(self, topic_partition: TopicPartition, partition: Partition | None) -> PartitionAppend:
        """Return the result of a partition that is not here, or of null records, which the log does not take."""
        missing = (
            self._missing_partition_error(topic_partition) if partition is None else ErrorCode.UNKNOWN_SERVER_ERROR
        )
        return PartitionAppend(topic_partition, missing)

    def _await_replicas(
        self, results: list[PartitionAppend], timeout_ms: int, request_id: int
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        waiting: list[tuple[int, Partition]] = []
        for index, result in enumerate(results):
            if not result.error_code:
                partition = self.partitions.get(result.topic_partition)
                if partition is None:
                    result.error_code = self._missing_partition_error(result.topic_partition)
                else:
                    reached = partition.enough_replicas_reached(result.last_offset + 1)
                    if reached is None:
                        waiting.append((index, partition))
                        continue
                    result.error_code = reached
            if self.journal.wants_batches:
                note_completion(self, result, -1, request_id)
        if not waiting:
            return results
        operation = DelayedProduce(results, [index for index, _ in waiting], partial(self._partition_done, request_id))
        for index, partition in waiting:
            partition.await_high_watermark(results[index].last_offset + 1, operation, index)
        if timeout_ms <= 0:
            operation.expire()  # as Kafka's timer: overdue on arrival, before any follower can fetch
        elif not self._stopped:
            self._expirations.add(operation, timeout_ms)
        return operation.deferred

    def _partition_done(self, request_id: int, result: PartitionAppend) -> None:
        if self.journal.wants_batches:
            note_completion(self, result, -1, request_id)

    @property
    def delayed_operations(self) -> list[DelayedOperation]:
        """The operations that wait here for followers, for records, or for their deadline."""
        return self._expirations.operations

    # Fetches.

    def fetch(
        self, *, params: FetchParams, partitions: Sequence[PartitionFetch]
    ) -> list[PartitionFetchResult] | Deferred[list[PartitionFetchResult]]:
        """Read, for a consumer or (params.replica_id >= 0) a follower; the results are in the order of `partitions`.

        Each partition once. A plain list when there is enough, an error, a diverging epoch or nothing to wait for;
        else a Deferred that fires when `min_bytes` are there, a role changes, or `max_wait_ms` have passed.
        """
        results = self._read_all(params, partitions, update_follower=params.is_from_follower)
        if (
            params.max_wait_ms <= 0
            or not partitions
            or any(
                result.error_code or result.diverging_epoch is not None or result.preferred_read_replica != NO_REPLICA
                for result in results
            )
            or sum(result.size_in_bytes for result in results) >= params.min_bytes
        ):
            return results
        operation = DelayedFetch(
            params=params,
            partitions={fetch.topic_partition: fetch for fetch in partitions},
            read=self._complete_fetch,
            throttles=self.leader_throttles if params.is_from_follower else None,
        )
        enough = False
        for topic_partition in operation.partitions:
            partition = self.partitions[topic_partition]
            partition.delayed_fetches[operation] = None
            # A follower's own fetch may just have moved the high watermark, or the ISR.
            enough |= operation.has_enough(partition)
        if enough:
            self.wake_fetch(operation)
        self._expirations.add(operation, params.max_wait_ms)
        return operation.deferred

    def _complete_fetch(self, operation: DelayedFetch) -> list[PartitionFetchResult]:
        for topic_partition in operation.partitions:
            partition = self.partitions.get(topic_partition)
            if partition is not None:
                partition.delayed_fetches.pop(operation, None)
        return self._read_all(operation.params, list(operation.partitions.values()), update_follower=False)

    def _read_all(
        self, params: FetchParams, partitions: Sequence[PartitionFetch], *, update_follower: bool
    ) -> list[PartitionFetchResult]:
        left = params.max_bytes
        at_least_one = not params.hard_max_bytes
        results = []
        for fetch in partitions:
            result = self.read_partition(
                params,
                fetch,
                max_bytes=min(left, fetch.max_bytes),
                at_least_one=at_least_one,
                update_follower=update_follower,
            )
            size = result.size_in_bytes
            if size:
                at_least_one = False
                left = max(0, left - size)
            results.append(result)
        return results

    def read_partition(
        self, params: FetchParams, fetch: PartitionFetch, *, max_bytes: int, at_least_one: bool, update_follower: bool
    ) -> PartitionFetchResult:
        """Read one partition; with `update_follower` record the offset that a follower has reached."""
        partition = self.get_partition(fetch.topic_partition, fetch.topic_id)
        if isinstance(partition, ErrorCode):
            return PartitionFetchResult(fetch.topic_partition, partition)
        result = self.read_hosted(params, fetch, partition, max_bytes, at_least_one=at_least_one)
        if update_follower and not result.error_code and result.diverging_epoch is None:
            follower = partition.followers.get(params.replica_id)
            if follower is not None:
                if self._is_of_an_earlier_run(follower.broker_id, params.replica_epoch):
                    return PartitionFetchResult(fetch.topic_partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
                partition.follower_fetched(follower, fetch.fetch_offset, fetch.log_start_offset, params.replica_epoch)
        return result

    def read_hosted(
        self, params: FetchParams, fetch: PartitionFetch, partition: Partition, max_bytes: int, *, at_least_one: bool
    ) -> PartitionFetchResult:
        """Read a partition that is hosted here, for clients and followers alike. Mirrors Partition.fetchRecords."""
        topic_partition = fetch.topic_partition
        is_from_follower = params.replica_id >= 0
        preferred = (
            NO_REPLICA
            if params.rack_id is None or self.replica_selector is None
            else preferred_read_replica(
                self.replica_selector, partition, params.rack_id, fetch.fetch_offset, self.image, self.broker_id
            )
        )
        error = partition.check_access(fetch.current_leader_epoch, leader_only=params.fetch_only_leader)
        follower = partition.followers.get(params.replica_id)
        if follower is None and is_from_follower and not error:
            no_epoch = fetch.current_leader_epoch == NO_EPOCH
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER if no_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        if error:
            return PartitionFetchResult(topic_partition, error)
        log = partition.log
        result = PartitionFetchResult(
            topic_partition, _NONE, log.high_watermark, log.last_stable_offset, log.log_start_offset
        )
        if preferred != NO_REPLICA:
            result.preferred_read_replica = preferred
            return result
        try:
            diverging = partition.diverging_epoch(fetch.last_fetched_epoch, fetch.fetch_offset)
            if diverging is not None:
                result.diverging_epoch = diverging
                return result
            bound = partition.read_bound(params.isolation)
            result.batches = batches = log.read(
                fetch.fetch_offset,
                max_bytes=max_bytes,
                up_to=bound,
                at_least_one=at_least_one,
                fragment=not is_from_follower,
            )
            below_bound = fetch.fetch_offset < bound
            if not batches and below_bound:
                note_incomplete_read(result, log, fetch.fetch_offset, params, 0 if at_least_one else max_bytes, bound)
            if params.isolation is FetchIsolation.TXN_COMMITTED and below_bound:
                result.aborted_transactions = log.aborted_transactions_of_read(fetch.fetch_offset, batches)
        except OffsetOutOfRange:
            return PartitionFetchResult(topic_partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        except LogDirectoryOffline:
            return PartitionFetchResult(topic_partition, ErrorCode.KAFKA_STORAGE_ERROR)
        quota = self.replication_quotas.leader
        if follower is not None and quota.active and batches and self.leader_throttles(partition, follower.broker_id):
            result.batches, result.throttled = [], True
        return result

    def _is_of_an_earlier_run(self, broker_id: int, broker_epoch: int) -> bool:
        """Return True if a follower sent its Fetch before its present registration (KIP-903)."""
        if broker_epoch == NO_EPOCH:
            return False
        known = self.image.brokers.get(broker_id)
        return known is not None and not known.fenced and known.epoch > broker_epoch

    def leader_throttles(self, partition: Partition, replica_id: int) -> bool:
        """Return True if the exceeded quota throttles a follower that is not in sync. Mirrors shouldLeaderThrottle."""
        quota = self.replication_quotas.leader
        return (
            quota.active
            and replica_id not in partition.isr
            and quota.is_throttled(partition.topic_partition)
            and quota.is_exceeded
        )

    # Offsets.

    def list_offset(
        self,
        topic_partition: TopicPartition,
        *,
        timestamp: int,
        isolation: FetchIsolation | None,
        current_leader_epoch: int = NO_EPOCH,
        fetch_only_leader: bool = True,
    ) -> OffsetResult:
        """The offset for a timestamp, or for a special one (-1 latest, -2 earliest, -3 max timestamp, ...).

        `isolation` None is a follower or the debugging consumer: the latest offset is then the log end.
        """
        partition = self.get_partition(topic_partition)
        if isinstance(partition, ErrorCode):
            return OffsetResult(error_code=partition)
        error = partition.check_access(current_leader_epoch, leader_only=fetch_only_leader)
        return OffsetResult(error_code=error) if error else list_offset(partition, timestamp, isolation)

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, *, current_leader_epoch: int, leader_epoch: int
    ) -> EpochEndOffsetResult:
        """Where `leader_epoch`, or the largest one below it, ends here; both -1 when unknown."""
        partition = self.get_partition(topic_partition)
        if isinstance(partition, ErrorCode):
            return EpochEndOffsetResult(error_code=partition)
        error = partition.check_access(current_leader_epoch, leader_only=True)
        return (
            EpochEndOffsetResult(error_code=error) if error else last_offset_for_leader_epoch(partition, leader_epoch)
        )

    # Log start offsets.

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout_ms: int
    ) -> DeleteResults | Deferred[DeleteResults]:
        """Delete the records before each partition's offset (-1: its high watermark), on all live replicas.

        A plain mapping when nothing has to be waited for, else a Deferred that fires when every live follower's log
        starts there too, or with REQUEST_TIMED_OUT after `timeout_ms`.
        """
        operation = DelayedDeleteRecords(self, delete_on_leader(self, offsets))
        if operation.try_complete():
            return operation.results
        self._expirations.add(operation, timeout_ms)
        return operation.deferred

    def log_start_moved(self, topic_partition: TopicPartition) -> None:
        """Notify the followers of a leader whose log start offset has moved."""
        partition = self.partitions.get(topic_partition)
        if partition is not None:
            partition.log_start_moved()

    # Waking.

    def wake_fetch(self, operation: DelayedFetch) -> None:
        """Complete a parked fetch in the next flush."""
        self._woken_fetches[operation] = None
        self._plan_flush()

    def wake_session(self, session: ReplicaFetchSession) -> None:
        """Respond to a follower's parked fetch in the next flush, or after the append that is going on."""
        self._woken_sessions[session] = None
        if not self._appending:
            self._plan_flush()

    def _plan_flush(self) -> None:
        if not self._stopped and not self._appending and self._flush_call is None:
            self._flush_call = self.reactor.callLater(0, self._flush)

    def _flush(self) -> None:
        self._flush_call = None
        self._complete_sessions()
        fetches, self._woken_fetches = self._woken_fetches, {}
        for operation in fetches:
            if self._stopped:
                return
            operation.complete()

    def _complete_sessions(self) -> None:
        """Respond to followers; one that is close enough confirms within the call.

        After an append with acks=all this is done at once, as by ReplicaManager.tryCompleteActions; for others it waits
        for the flush, so that one response carries all appends of one loop iteration.
        """
        while self._woken_sessions and not self._stopped:
            sessions, self._woken_sessions = self._woken_sessions, {}
            for session in sessions:
                session.complete()


def _errors_of(results: Sequence[PartitionAppend]) -> dict[TopicPartition, ErrorCode]:
    return {result.topic_partition: result.error_code for result in results}
