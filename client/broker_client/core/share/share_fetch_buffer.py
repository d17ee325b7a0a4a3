"""Fetched share partitions that wait to be delivered. Mirrors ShareFetchCollector and ShareCompletedFetch.

Acquired offsets without a record are acknowledged as gaps, batches that fail their checksum as rejected, and records
that cannot be deserialized as released.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.consumer_errors import RecordDeserializationError
from broker_client.core.consumer.fetch_buffer import joined_records
from broker_client.core.consumer.fetched_batches import FetchedBatch
from broker_client.core.share.in_flight_records import InFlightBatch, InFlightRecords
from broker_client.errors import IllegalState, ProducerError, TopicAuthorizationFailed
from broker_client.records import TopicPartition
from broker_client.share_groups import AcknowledgeType, CorruptRecords
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import RecordBatchError
from protocol_specs.records.batch_peek import BatchHeader
from protocol_specs.records.record_set import check_any, iterate_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_client.core.consumer.deserializers import Deserializers
    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.core.consumer.fetcher import FetchOptions
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.metrics.fetch_metrics import ResponseMetrics
    from broker_client.core.share.in_flight_records import UnreadableRecords
    from broker_client.share_groups import TopicIdPartition
    from protocol_specs.messages.share_fetch import PartitionData
    from protocol_specs.records.record_set import AnyHeader

__all__ = ["DeliveryFailed", "FetchedSharePartition", "ShareFetchBuffer"]

_METADATA_UPDATED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)
_FETCHED_AGAIN: Final = (ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR)
_OFFSET_MAX: Final = 2**63 - 1
_log = Logger()


class DeliveryFailed(Exception):
    """The error of a poll, with the acknowledgements of what could not be read. Mirrors ShareFetchException."""

    def __init__(self, delivery: InFlightRecords, reason: UnreadableRecords) -> None:
        super().__init__(delivery, reason)
        self.delivery = delivery
        self.reason = reason


class FetchedSharePartition:
    """One partition of a response; read once, by whole batches of the log."""

    def __init__(
        self,
        node_id: int,
        partition: TopicIdPartition,
        data: PartitionData,
        lock_timeout_ms: int | None,
        response: ResponseMetrics,
    ) -> None:
        self.partition = partition
        self.error_code = ErrorCode.for_code(data.error_code)
        self.is_read = False
        self._node_id = node_id
        self._lock_timeout_ms = lock_timeout_ms
        self._key = TopicPartition(partition.topic, partition.partition)
        self._acquired = self._acquired_offsets(data)
        self._batches = iterate_any(joined_records(data.records))
        self._offsets = 0, _OFFSET_MAX  # of the batch that is read now
        self._records: Iterator[tuple[ConsumerRecord, int]] = iter(())  # with their sizes in bytes
        self._response = response
        self._read_records = self._read_bytes = 0
        self._failure: RecordBatchError | RecordDeserializationError | None = None

    def take(self, count_max: int, deserializers: Deserializers, *, check_crcs: bool) -> InFlightBatch:
        """Return the records of whole batches until there are `count_max` or more, and the gaps between them.

        What cannot be read ends the delivery; it is the error of the next one, after which reading goes on.
        """
        taken = InFlightBatch(self._node_id, self._lock_timeout_ms)
        if self._failure is None:
            try:
                self._read(taken, count_max, deserializers, check_crcs=check_crcs)
            except (RecordBatchError, RecordDeserializationError) as error:
                self._failure = error
                taken.ends_delivery = not taken.is_empty
        if self._failure is not None and taken.is_empty:
            self._fail(taken, self._failure)
            self._failure = None
        return taken

    def _read(self, taken: InFlightBatch, count_max: int, deserializers: Deserializers, *, check_crcs: bool) -> None:
        count = self._deliver(taken, deserializers)
        while count < count_max and not self.is_read:
            self._offsets = 0, _OFFSET_MAX
            found = next(self._batches, None)
            if found is None:
                self._end(taken)
                break
            header, batch = found
            self._offsets = _first_offset(header), header.last_offset
            self._records = self._records_of(header, batch, check_crcs=check_crcs)
            count += self._deliver(taken, deserializers)

    def _end(self, taken: InFlightBatch) -> None:
        """All batches were read: acquired offsets that are left have no records."""
        self.is_read = True
        for offset, _ in self._acquired:
            taken.acknowledgements.add(offset, None)
        self._acquired.clear()
        self._response.read(self._key, self._read_bytes, self._read_records)

    def _acquired_offsets(self, data: PartitionData) -> deque[tuple[int, int]]:
        counts: dict[int, int] = {}
        for acquired in data.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                if counts.setdefault(offset, acquired.delivery_count) != acquired.delivery_count:
                    _log.error(
                        "share fetch: offset acquired twice partition={partition} offset={offset}",
                        partition=self._key,
                        offset=offset,
                    )
        return deque(counts.items())

    def _records_of(
        self, header: AnyHeader, batch: memoryview, *, check_crcs: bool
    ) -> Iterator[tuple[ConsumerRecord, int]]:
        if check_crcs:
            check_any(batch)
        if header.is_control:
            return iter(())
        fetched = FetchedBatch(
            topic_partition=self._key,
            position=0,
            next_offset=header.next_offset,
            leader_epoch=header.partition_leader_epoch,
            batch=batch,
        )
        portion = fetched.reader().portion(sys.maxsize)
        return zip(portion.rows(), portion.sizes(), strict=True)

    def _deliver(self, taken: InFlightBatch, deserializers: Deserializers) -> int:
        """Deliver those records of a batch that were acquired; return their number."""
        acquired = self._acquired
        count = 0
        for record, size_bytes in self._records:
            while acquired and acquired[0][0] < record.offset:
                taken.acknowledgements.add(acquired.popleft()[0], None)
            if acquired and acquired[0][0] == record.offset:
                _, delivery_count = acquired.popleft()
                taken.add_record(deserializers.record(record._replace(delivery_count=delivery_count)))
                self._read_bytes += size_bytes
                self._read_records += 1
                count += 1
        return count

    def _fail(self, taken: InFlightBatch, error: RecordBatchError | RecordDeserializationError) -> None:
        if isinstance(error, RecordDeserializationError):
            taken.fail(error, (error.offset,), AcknowledgeType.RELEASE)
            return
        base_offset, last_offset = self._offsets
        rejected = []
        while self._acquired and self._acquired[0][0] <= last_offset:
            offset, _ = self._acquired.popleft()
            if offset >= base_offset:
                rejected.append(offset)
        taken.fail(CorruptRecords(self._key, rejected, str(error)), rejected, AcknowledgeType.REJECT)


class ShareFetchBuffer:
    """The partitions in the order of their responses.

    Partitions are added on the reactor's thread. `run` of `collect` reads them on the thread of the application, as
    Java does: the network thread fetches meanwhile. As in Java, a response is not measured if a broker refuses one of
    its partitions.
    """

    def __init__(
        self, options: FetchOptions, deserializers: Deserializers, request_metadata: Callable[[], object]
    ) -> None:
        self._options = options
        self._deserializers = deserializers
        self._request_metadata = request_metadata
        self._queue: deque[FetchedSharePartition] = deque()

    @property
    def is_empty(self) -> bool:
        """True if no response waits to be read."""
        return not self._queue

    def add(self, fetched: FetchedSharePartition) -> None:
        """Keep a partition of a response."""
        self._queue.append(fetched)

    async def collect(self, run: CallbackRunner) -> InFlightRecords:
        """Return the next records, max.poll.records or a whole batch of the log.

        Raises:
            DeliveryFailed: the next batch is corrupt, or a record cannot be deserialized.
            ProducerError: a broker refuses the partition.
        """
        delivery = InFlightRecords()
        while self._queue and not delivery.is_complete:
            head = self._queue[0]
            if head.error_code is ErrorCode.NONE:
                await run(self._take, delivery)
                continue
            try:
                self._handle_error(head)
            except ProducerError:
                if not delivery.is_empty:
                    break
                self._queue.popleft()
                raise
            self._queue.popleft()
        return delivery

    def _take(self, delivery: InFlightRecords) -> None:
        """Read partitions up to the first that a broker refuses."""
        while self._queue and self._queue[0].error_code is ErrorCode.NONE:
            head = self._queue[0]
            if head.is_read:
                self._queue.popleft()
                continue
            left = self._options.max_poll_records - delivery.count
            if left <= 0:
                delivery.is_complete = True
                return
            batch = head.take(left, self._deserializers, check_crcs=self._options.check_crcs)
            delivery.add(head.partition, batch)
            if batch.error is not None and delivery.is_empty:
                raise DeliveryFailed(delivery, batch.error)
            if batch.error is not None or batch.ends_delivery:
                delivery.is_complete = True
                return

    def _handle_error(self, head: FetchedSharePartition) -> None:
        code, partition = head.error_code, head.partition
        _log.info("share fetch: refused partition={partition} error={error}", partition=partition, error=code.name)
        if code in _METADATA_UPDATED:
            self._request_metadata()
        elif code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise TopicAuthorizationFailed(partition.topic)
        elif code is ErrorCode.CORRUPT_MESSAGE:
            raise ProducerError(f"ShareFetch of {partition}: the broker found a corrupt message in its log")
        elif code not in _FETCHED_AGAIN:
            raise IllegalState(f"ShareFetch of {partition}: unexpected error code {int(code)} ({code.name})")


def _first_offset(header: AnyHeader) -> int:
    return header.base_offset if isinstance(header, BatchHeader) else header.last_offset
