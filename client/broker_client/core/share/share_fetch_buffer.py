"""Fetched share partitions that wait to be delivered. Mirrors ShareFetchCollector and ShareCompletedFetch.

Acquired offsets without a record are acknowledged as gaps, batches that fail their checksum as rejected.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

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
    from collections.abc import Callable

    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.core.consumer.fetcher import FetchOptions
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
    """The error of a poll, with the rejections that its delivery contains. Mirrors ShareFetchException."""

    def __init__(self, delivery: InFlightRecords, reason: CorruptRecords) -> None:
        super().__init__(delivery, reason)
        self.delivery = delivery
        self.reason = reason


class FetchedSharePartition:
    """One partition of a response; read once, by whole batches of the log."""

    def __init__(
        self, node_id: int, partition: TopicIdPartition, data: PartitionData, lock_timeout_ms: int | None
    ) -> None:
        self.partition = partition
        self.error_code = ErrorCode.for_code(data.error_code)
        self.is_read = False
        self._node_id = node_id
        self._lock_timeout_ms = lock_timeout_ms
        self._key = TopicPartition(partition.topic, partition.partition)
        self._acquired = self._acquired_offsets(data)
        self._batches = iterate_any(joined_records(data.records))
        self._corrupt: tuple[int, int, RecordBatchError] | None = None

    def take(self, count_max: int, *, check_crcs: bool) -> InFlightBatch:
        """Return the records of whole batches until there are `count_max` or more, and the gaps between them."""
        taken = InFlightBatch(self._node_id, self._lock_timeout_ms)
        if self._corrupt is not None:
            self._reject(taken, *self._corrupt)
            self._corrupt = None
            return taken
        count = 0
        while count < count_max and not self.is_read:
            offsets = 0, _OFFSET_MAX
            try:
                found = next(self._batches, None)
                if found is None:
                    self._end(taken)
                    break
                header, batch = found
                offsets = _first_offset(header), header.last_offset
                records = self._records(header, batch, check_crcs=check_crcs)
            except RecordBatchError as error:
                if taken.is_empty:
                    self._reject(taken, *offsets, error)
                else:
                    self._corrupt = *offsets, error
                    taken.ends_delivery = True
                break
            count += self._deliver(taken, records)
        return taken

    def _end(self, taken: InFlightBatch) -> None:
        """All batches were read: acquired offsets that are left have no records."""
        self.is_read = True
        for offset, _ in self._acquired:
            taken.acknowledgements.add(offset, None)
        self._acquired.clear()

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

    def _records(self, header: AnyHeader, batch: memoryview, *, check_crcs: bool) -> list[ConsumerRecord]:
        if check_crcs:
            check_any(batch)
        if header.is_control:
            return []
        return FetchedBatch(
            topic_partition=self._key,
            position=0,
            next_offset=header.next_offset,
            leader_epoch=header.partition_leader_epoch,
            batch=batch,
        ).records()

    def _deliver(self, taken: InFlightBatch, records: list[ConsumerRecord]) -> int:
        """Deliver those records that were acquired; return their number."""
        acquired = self._acquired
        count = 0
        for record in records:
            while acquired and acquired[0][0] < record.offset:
                taken.acknowledgements.add(acquired.popleft()[0], None)
            if acquired and acquired[0][0] == record.offset:
                taken.add_record(record._replace(delivery_count=acquired.popleft()[1]))
                count += 1
        return count

    def _reject(self, taken: InFlightBatch, base_offset: int, last_offset: int, error: RecordBatchError) -> None:
        rejected = []
        while self._acquired and self._acquired[0][0] <= last_offset:
            offset, _ = self._acquired.popleft()
            if offset >= base_offset:
                taken.acknowledgements.add(offset, AcknowledgeType.REJECT)
                rejected.append(offset)
        taken.error = CorruptRecords(self._key, rejected, str(error))


class ShareFetchBuffer:
    """The partitions in the order of their responses."""

    def __init__(self, options: FetchOptions, request_metadata: Callable[[], object]) -> None:
        self._options = options
        self._request_metadata = request_metadata
        self._queue: deque[FetchedSharePartition] = deque()

    @property
    def is_empty(self) -> bool:
        """True if no response waits to be read."""
        return not self._queue

    def add(self, fetched: FetchedSharePartition) -> None:
        """Keep a partition of a response."""
        self._queue.append(fetched)

    def collect(self) -> InFlightRecords:
        """Return the next records, max.poll.records or a whole batch of the log.

        Raises:
            DeliveryFailed: the next batch is corrupt.
            ProducerError: a broker refuses the partition.
        """
        delivery = InFlightRecords()
        left = self._options.max_poll_records
        while left > 0 and self._queue:
            head = self._queue[0]
            if head.is_read:
                self._queue.popleft()
                continue
            if head.error_code is not ErrorCode.NONE:
                try:
                    self._handle_error(head)
                except ProducerError:
                    if not delivery.is_empty:
                        break
                    self._queue.popleft()
                    raise
                self._queue.popleft()
                continue
            batch = head.take(left, check_crcs=self._options.check_crcs)
            left -= len(batch.records)
            delivery.add(head.partition, batch)
            if batch.error is not None and delivery.is_empty:
                raise DeliveryFailed(delivery, batch.error)
            if batch.error is not None or batch.ends_delivery:
                break
        return delivery

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
