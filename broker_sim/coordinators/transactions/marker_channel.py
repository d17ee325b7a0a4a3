"""The markers that a coordinator sends to the leaders of a transaction's partitions. Mirrors
TransactionMarkerChannelManager with its TxnMarkerQueue, and TransactionMarkerRequestCompletionHandler.

Markers wait for the next round, which finds the leaders of their partitions and has a queue per broker. A round takes
all of a queue into one WriteTxnMarkers; a broker has at most one in flight. Markers of partitions without a live leader
wait for a change of the metadata. A marker that fails goes to the present leader, for ever; a transaction whose markers
are all written is completed by a last record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from twisted.logger import Logger

from broker_sim.coordinators.transactions.transaction_errors import log_error
from broker_sim.coordinators.transactions.transaction_state import TransactionState
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order_by, topic_partition_hash
from protocol_specs.message import factory
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.coordinators.coordinator_error import CoordinatorError
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.pending_writes import PendingWrite
    from broker_sim.coordinators.transactions.transaction_metadata import TransactionMetadata, TransactionTarget
    from broker_sim.coordinators.transactions.transaction_shard import TransactionShard
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_cache import MetadataCache
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.messages.write_txn_markers import WriteTxnMarkersResponse
    from protocol_specs.releases import Release
    from sim_runtime.interfaces import IReactor

__all__ = ["MarkerChannel", "MarkerHost"]

RETRY_BACKOFF_MS: Final = 50
_RETRIED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_ABANDONED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""Another producer or coordinator has gone on: the transaction is not completed by this one."""
_WRITTEN: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})
"""A log whose format has no markers is not waited for."""
# Constants, because looking up a member of an enum is slow.
_COMPLETE_COMMIT: Final = TransactionState.COMPLETE_COMMIT
_WRITE_TXN_MARKERS: Final = ApiKey.WRITE_TXN_MARKERS
_log = Logger()


class MarkerHost(Protocol):
    """The parts of its broker that the channel uses."""

    id: int
    links: NodeLinks
    metadata_cache: MetadataCache
    reactor: IReactor
    release: Release

    def now_ms(self) -> int:
        """Return the broker's own wall clock, in milliseconds since the epoch."""


class CompleteEnd(Protocol):
    """Runs the last write of a transaction; returns None if the shard is not the present one of its partition."""

    def __call__(
        self, partition: int, shard: TransactionShard, operation: Callable[[Any], CoordinatorResult[None]]
    ) -> PendingWrite | None: ...


_request: Final = factory(WriteTxnMarkersRequest, "markers")
_marker: Final = factory(
    WritableTxnMarker,
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "transaction_result",
    "transaction_version",
    "topics",
)
_topic: Final = factory(WritableTxnMarkerTopic, "name", "partition_indexes")


class _Ending:
    """A prepared transaction, and the change that completes it."""

    __slots__ = ("epoch", "metadata", "producer_id", "shard", "target")

    def __init__(self, shard: TransactionShard, metadata: TransactionMetadata, target: TransactionTarget) -> None:
        self.shard = shard
        self.metadata = metadata
        self.target = target
        self.producer_id = metadata.producer_id
        self.epoch = metadata.producer_epoch

    def marker(self, partitions: Iterable[TopicPartition]) -> WritableTxnMarker:
        topics: dict[str, WritableTxnMarkerTopic] = {}
        for topic, index in partitions:
            if topic in topics:
                topics[topic].partition_indexes.append(index)
            else:
                topics[topic] = _topic(topic, [index])
        return _marker(
            self.producer_id,
            self.epoch,
            self.shard.coordinator_epoch,
            self.target.state is _COMPLETE_COMMIT,
            self.metadata.client_version,
            list(topics.values()),
        )


class MarkerChannel:
    """The endings of one broker's transactions, by their transactional id."""

    retried: ClassVar[frozenset[ErrorCode]] = _RETRIED
    """The errors after which a marker is sent again."""
    written: ClassVar[frozenset[ErrorCode]] = _WRITTEN
    """The errors after which a partition lacks no marker."""
    _ending_type: ClassVar[type[_Ending]] = _Ending

    def __init__(self, host: MarkerHost, complete: CompleteEnd) -> None:
        self._host = host
        self._complete = complete
        self._endings: dict[str, _Ending] = {}
        self._waiting: list[tuple[_Ending, list[TopicPartition]]] = []
        self._queues: dict[int, list[tuple[_Ending, list[TopicPartition]]]] = {}
        self._without_leader: list[tuple[_Ending, list[TopicPartition]]] = []
        self._in_flight: dict[int, None] = {}
        self._round: IDelayedCall | None = None
        self._calls: dict[IDelayedCall, None] = {}
        self._stopped = False

    def send_markers(self, shard: TransactionShard, metadata: TransactionMetadata) -> None:
        """Send a marker to each partition of a prepared transaction, and complete it when all are written."""
        ending = self._ending_type(shard, metadata, metadata.prepare_complete(self._host.now_ms()))
        self._endings[metadata.transactional_id] = ending
        if metadata.partitions:
            self._enqueue(ending, list(metadata.partitions))
        else:
            self._complete_if_written(ending)

    def drop(self, partition: int) -> None:
        """Forget the endings of a partition of the transaction log; its next coordinator sends their markers."""
        for transactional_id, ending in list(self._endings.items()):
            if ending.shard.context.partition == partition:
                del self._endings[transactional_id]

    def metadata_changed(self) -> None:
        """Send markers whose partitions had no leader."""
        waiting, self._without_leader = self._without_leader, []
        for ending, partitions in waiting:
            self._enqueue(ending, partitions)

    def stop(self) -> None:
        """End with the process: nothing is sent any more."""
        self._stopped = True
        if self._round is not None:
            self._round.cancel()
            self._round = None
        for call in self._calls:
            call.cancel()
        self._calls.clear()

    # Queues.

    def _is_current(self, ending: _Ending) -> bool:
        return self._endings.get(ending.metadata.transactional_id) is ending

    def _enqueue(self, ending: _Ending, partitions: list[TopicPartition]) -> None:
        """Send markers with the next round: after the response to the producer, which waits for none of this."""
        self._waiting.append((ending, partitions))
        self._plan_round()

    def _plan_round(self) -> None:
        if self._round is None and not self._stopped:
            self._round = self._host.reactor.callLater(0, self._run_round)

    def _run_round(self) -> None:
        self._round = None
        waiting, self._waiting = self._waiting, []
        for ending, partitions in waiting:
            if self._is_current(ending):
                self._route(ending, partitions)
        for broker_id in list(self._queues):
            if broker_id not in self._in_flight:
                self._send(broker_id)

    def _route(self, ending: _Ending, partitions: list[TopicPartition]) -> None:
        """Put markers into the queues of the leaders."""
        image = self._host.metadata_cache.image
        leaders: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            registration = image.partition(*partition)
            if registration is None:
                ending.metadata.partitions.pop(partition, None)  # deleted: its records are not read any more
            else:
                leader = registration.leader if image.is_active(registration.leader) else -1
                leaders.setdefault(leader, []).append(partition)
        for leader, led in leaders.items():
            if leader < 0:
                self._without_leader.append((ending, led))
            else:
                self._queues.setdefault(leader, []).append((ending, led))
        self._complete_if_written(ending)

    def _later(self, delay_ms: float, function: Callable[..., None], *arguments: Any) -> None:
        def run() -> None:
            del self._calls[call]
            function(*arguments)

        call = self._host.reactor.callLater(delay_ms / 1000, run)
        self._calls[call] = None

    # Requests.

    def _send(self, broker_id: int) -> None:
        entries = [entry for entry in self._queues.pop(broker_id, ()) if self._is_current(entry[0])]
        if not entries:
            return
        self._in_flight[broker_id] = None
        request = _request([ending.marker(partitions) for ending, partitions in entries])
        host = self._host
        version = host.release.api_versions[_WRITE_TXN_MARKERS].highest
        host.links.call(
            host.id,
            broker_id,
            request,
            lambda response, _: self._responded(broker_id, entries, response),
            lambda _, __: self._failed(broker_id, entries),
            version=version,
        )

    def _responded(
        self, broker_id: int, entries: list[tuple[_Ending, list[TopicPartition]]], response: WriteTxnMarkersResponse
    ) -> None:
        self._sent(broker_id)
        # Results of one producer are in one element, also those of several markers.
        errors: dict[tuple[int, str, int], int] = {}
        for marker in response.markers:
            for topic in marker.topics:
                for result in topic.partitions:
                    errors[marker.producer_id, topic.name, result.partition_index] = result.error_code
        for ending, partitions in entries:
            if self._is_current(ending):
                results = {each: errors[ending.producer_id, *each] for each in partitions}
                if not self._take_results(ending, results):
                    return

    def _take_results(self, ending: _Ending, results: dict[TopicPartition, int]) -> bool:
        """Keep the partitions that lack their marker, also when the ending is given up: they are described still.

        Return False after an error that Kafka does not expect, such as that of a marker above max.message.bytes: what
        follows it is not looked at, and not sent again before the transaction's partition moves to another coordinator.
        """
        errors = frozenset(results.values())
        if not errors <= self.written and not errors <= self.written | self.retried | _ABANDONED:
            in_order = hash_order_by(results, lambda partition: topic_partition_hash(*partition))
            results = {partition: results[partition] for partition in in_order}
        failed: list[TopicPartition] = []
        for partition, error_code in results.items():
            if error_code in self.retried:
                failed.append(partition)
            elif error_code in _ABANDONED:
                _log.info(
                    "broker {broker_id}: marker of {transactional_id} refused partition={partition} error={error}",
                    broker_id=self._host.id,
                    transactional_id=ending.metadata.transactional_id,
                    partition=partition,
                    error=ErrorCode(error_code).name,
                )
                self._endings.pop(ending.metadata.transactional_id, None)
            elif error_code in self.written:
                ending.metadata.partitions.pop(partition, None)
            else:
                _log.error(
                    "broker {broker_id}: {transactional_id} is not completed: "
                    "its marker for {partition} is refused: {error}",
                    broker_id=self._host.id,
                    transactional_id=ending.metadata.transactional_id,
                    partition=partition,
                    error=ErrorCode(error_code).name,
                )
                return False
        if failed and self._is_current(ending):
            self._later(RETRY_BACKOFF_MS, self._enqueue, ending, failed)
        self._complete_if_written(ending)
        return True

    def _failed(self, broker_id: int, entries: list[tuple[_Ending, list[TopicPartition]]]) -> None:
        def again() -> None:
            for ending, partitions in entries:
                self._enqueue(ending, partitions)

        self._sent(broker_id)
        if not self._stopped:
            self._later(RETRY_BACKOFF_MS, again)

    def _sent(self, broker_id: int) -> None:
        del self._in_flight[broker_id]
        if broker_id in self._queues:
            self._plan_round()

    # Completion.

    def _complete_if_written(self, ending: _Ending) -> None:
        if self._is_current(ending) and not ending.metadata.partitions:
            del self._endings[ending.metadata.transactional_id]
            self._write_completion(ending)

    def _write_completion(self, ending: _Ending) -> None:
        shard, metadata, target = ending.shard, ending.metadata, ending.target
        written = self._complete(shard.context.partition, shard, lambda shard: shard.complete_end(metadata, target))
        if written is not None:
            written.on_error(lambda error: self._not_completed(ending, error))

    def _not_completed(self, ending: _Ending, error: CoordinatorError) -> None:
        error_code = log_error(error.error_code)
        if error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE and not self._stopped:
            self._later(RETRY_BACKOFF_MS, self._write_completion, ending)
        else:
            _log.warn(
                "broker {broker_id}: {transactional_id} is not completed: {error}",
                broker_id=self._host.id,
                transactional_id=ending.metadata.transactional_id,
                error=error_code.name,
            )
