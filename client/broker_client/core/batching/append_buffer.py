"""The batch append buffer: consecutive records of one batch, without the checks of RecordAccumulator.append.

For each record `append` checks that the producer is open, that the topic is known, that its partition is still the
sticky one, and that the batch has room. A buffer keeps the results of these checks for as long as none of them can
change, so that a record costs one list entry and one subtraction. It holds records without key and headers of one
millisecond. It ends with its millisecond, when its room is used up, with new metadata, and as soon as other code needs
the queue's batches: code that takes the queue's lock flushes the queue, which moves the values into the batch.

A buffer belongs to one thread, which takes no lock: it keeps the value first and then checks that the buffer is still
open. A flush closes the buffer first and then counts the values. So a value that was kept while the buffer was open is
counted; for another value the thread checks under the lock whether it was. Threads that alternate have no buffers.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Final

from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
from protocol_specs.records.batch_peek import MAGIC_V2

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.partitioners import StickyPartition
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.metadata import Metadata

__all__ = ["AppendBuffer", "AppendBuffers"]

# As ProducerBatch makes its futures.
_new_tuple: Final = tuple.__new__
# A buffer that takes fewer records costs more than it saves.
_RECORDS_MIN: Final = 4
# `now_ms_of` rounds up what is less than this below a millisecond.
_ROUNDED_UP_MS: Final = 0.0005


class AppendBuffers:
    """The newest buffer of each topic, `by_topic`; made when a second record goes to one batch in one millisecond.

    Records of up to `record_size_max` bytes break no limit of the configuration.
    """

    __slots__ = ("_record_size_max", "by_topic", "metadata", "seconds")

    def __init__(self, metadata: Metadata, seconds: Callable[[], float], record_size_max: int) -> None:
        self.by_topic: dict[str, AppendBuffer] = {}
        self.metadata = metadata
        self.seconds = seconds
        self._record_size_max = record_size_max

    def open(
        self, queue: PartitionQueue, batch: ProducerBatch, sticky: StickyPartition, switches_at: int, cluster: Cluster
    ) -> None:
        """Open a buffer for the records that follow the one just appended; under the queue's lock.

        After `switches_at` bytes the sticky partition changes, however full its batch is.
        """
        thread = get_ident()
        if queue.appender != thread or batch.magic != MAGIC_V2:
            queue.appender = thread
            return
        room_bytes = min(batch.room_for(switches_at - sticky.produced_bytes), self._record_size_max)
        buffer = AppendBuffer(self, queue, batch, sticky, cluster, room_bytes)
        if buffer.records_max >= _RECORDS_MIN and room_bytes >= _RECORDS_MIN * batch.max_record_size:
            queue.append_buffer = self.by_topic[queue.topic_partition.topic] = buffer


class AppendBuffer:
    """One buffer. Any thread may call `append`, without a lock; `flush` needs the queue's lock."""

    __slots__ = (
        "_append_buffers",
        "_batch",
        "_callbacks",
        "_cluster",
        "_first_index",
        "_flushed",
        "_frames",
        "_from_s",
        "_is_open",
        "_metadata",
        "_queue",
        "_result",
        "_room_bytes",
        "_seconds",
        "_sticky",
        "_thread",
        "_timestamp_ms",
        "_until_s",
        "_values",
        "records_max",
    )

    def __init__(
        self,
        append_buffers: AppendBuffers,
        queue: PartitionQueue,
        batch: ProducerBatch,
        sticky: StickyPartition,
        cluster: Cluster,
        room_bytes: int,
    ) -> None:
        self._append_buffers = append_buffers
        self._queue = queue
        self._batch = batch
        self._result = batch.result
        self._first_index = batch.record_count
        self._sticky = sticky
        self._metadata = append_buffers.metadata
        self._cluster = cluster
        self._seconds = append_buffers.seconds
        self._timestamp_ms = batch.last_append_ms
        self._from_s = (batch.last_append_ms - _ROUNDED_UP_MS) / 1000
        self._until_s = (batch.last_append_ms + 1 - _ROUNDED_UP_MS) / 1000
        self._frames, self.records_max = batch.next_frames()
        self._room_bytes = room_bytes
        self._thread = queue.appender
        self._is_open = True
        self._values: list[bytes] = []
        self._callbacks: list[tuple[int, DeliveryCallback]] = []
        self._flushed = 0

    def append(self, value: bytes, on_delivery: DeliveryCallback | None) -> FutureRecordMetadata | None:
        """Add a record; None if it has to go through RecordAccumulator.append."""
        if get_ident() != self._thread:
            return None
        values = self._values
        size = len(value)
        index = len(values)
        try:
            room_bytes = self._room_bytes - self._frames[size][2]
        except IndexError:  # larger than the table's largest
            return None
        if (
            room_bytes < 0
            or index >= self.records_max
            or self._metadata.cluster is not self._cluster
            or not self._from_s <= self._seconds() < self._until_s
        ):
            return None
        self._room_bytes = room_bytes
        if on_delivery is not None:
            self._callbacks.append((index, on_delivery))
        values.append(value)
        if not self._is_open and not self._has_flushed(index):
            return None
        # As `_future`, without the cost of a call. Only after the value is kept: making the future may start the
        # garbage collector, and with it a finalizer that sends.
        sent = self._result, self._first_index + index, self._timestamp_ms, -1, size
        return _new_tuple(FutureRecordMetadata, sent)

    def flush(self) -> None:
        """Close the buffer and move its values into the batch, as if each had been appended alone."""
        self._is_open = False
        self._flushed = count = len(self._values)
        self._queue.append_buffer = None
        topic = self._queue.topic_partition.topic
        if self._append_buffers.by_topic.get(topic) is self:
            # Another thread may just have replaced it by a newer one, which then ends unused.
            self._append_buffers.by_topic.pop(topic, None)
        if count:
            batch, values = self._batch, self._values[:count]
            before = batch.estimated_size_in_bytes
            batch.append_values(values)
            self._sticky.produced_bytes += batch.estimated_size_in_bytes - before
            for index, on_delivery in self._callbacks:
                if index < count:
                    batch.call_back(self._future(index, len(values[index])), on_delivery)

    def __len__(self) -> int:
        return len(self._values)

    def _has_flushed(self, index: int) -> bool:
        """True if the flush of another thread has counted the value at `index`; waits for a flush in progress."""
        with self._queue.lock:
            return index < self._flushed

    def _future(self, index: int, size: int) -> FutureRecordMetadata:
        sent = self._result, self._first_index + index, self._timestamp_ms, -1, size
        return _new_tuple(FutureRecordMetadata, sent)
