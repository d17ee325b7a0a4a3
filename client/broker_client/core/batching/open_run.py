"""Records one after the other to the same batch: no key, no headers, one millisecond. RecordAccumulator.append.

For each record `append` asks whether the producer is open, the topic known, its partition still the sticky one, and
whether the batch has room. A run holds the answers for as long as none of them can change: what it takes is a value
kept and a number counted down. It ends with its millisecond, with the room that was left, with new metadata, and as
soon as anyone else wants the queue's batches as they are: who takes the queue's lock settles the queue, which puts the
values into the batch.

A run belongs to one thread, which takes no lock: it keeps the value first, then looks whether the run is still open.
Whoever settles closes the run first, then counts the values. So a value that was kept while the run was open is
counted; of another the thread asks, behind the lock, whether it was. Threads that alternate have no runs.
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

__all__ = ["OpenRun", "OpenRuns"]

# As ProducerBatch makes its futures.
_new_tuple: Final = tuple.__new__
# A run has to take some records to be worth its making.
_RECORDS_MIN: Final = 4
# `now_ms_of` rounds up what is less than this below a millisecond.
_ROUNDED_UP_MS: Final = 0.0005


class OpenRuns:
    """The newest run of each topic, `by_topic`; made when a second record goes to one batch in one millisecond.

    `record_size_max`: what is smaller breaks no limit of the configuration.
    """

    __slots__ = ("_record_size_max", "by_topic", "metadata", "seconds")

    def __init__(self, metadata: Metadata, seconds: Callable[[], float], record_size_max: int) -> None:
        self.by_topic: dict[str, OpenRun] = {}
        self.metadata = metadata
        self.seconds = seconds
        self._record_size_max = record_size_max

    def open(
        self, queue: PartitionQueue, batch: ProducerBatch, sticky: StickyPartition, switches_at: int, cluster: Cluster
    ) -> None:
        """Let records that follow the one just appended go the short way; under the queue's lock.

        `switches_at`: after so many bytes the partition changes, whatever its batch.
        """
        thread = get_ident()
        if queue.appender != thread or batch.magic != MAGIC_V2:
            queue.appender = thread
            return
        room_bytes = min(batch.room_for(switches_at - sticky.produced_bytes), self._record_size_max)
        run = OpenRun(self, queue, batch, sticky, cluster, room_bytes)
        if run.records_max >= _RECORDS_MIN and room_bytes >= _RECORDS_MIN * batch.max_record_size:
            queue.run = self.by_topic[queue.topic_partition.topic] = run


class OpenRun:
    """One run. `append` from any thread, without a lock; `settle` under the queue's."""

    __slots__ = (
        "_batch",
        "_callbacks",
        "_cluster",
        "_first_index",
        "_frames",
        "_from_s",
        "_is_open",
        "_metadata",
        "_queue",
        "_result",
        "_room_bytes",
        "_runs",
        "_seconds",
        "_settled",
        "_sticky",
        "_thread",
        "_timestamp_ms",
        "_until_s",
        "_values",
        "records_max",
    )

    def __init__(
        self,
        runs: OpenRuns,
        queue: PartitionQueue,
        batch: ProducerBatch,
        sticky: StickyPartition,
        cluster: Cluster,
        room_bytes: int,
    ) -> None:
        self._runs = runs
        self._queue = queue
        self._batch = batch
        self._result = batch.result
        self._first_index = batch.record_count
        self._sticky = sticky
        self._metadata = runs.metadata
        self._cluster = cluster
        self._seconds = runs.seconds
        self._timestamp_ms = batch.last_append_ms
        self._from_s = (batch.last_append_ms - _ROUNDED_UP_MS) / 1000
        self._until_s = (batch.last_append_ms + 1 - _ROUNDED_UP_MS) / 1000
        self._frames, self.records_max = batch.next_frames()
        self._room_bytes = room_bytes
        self._thread = queue.appender
        self._is_open = True
        self._values: list[bytes] = []
        self._callbacks: list[tuple[int, DeliveryCallback]] = []
        self._settled = 0

    def append(self, value: bytes, on_delivery: DeliveryCallback | None) -> FutureRecordMetadata | None:
        """Add a record; None: it has to go the long way."""
        if get_ident() != self._thread:
            return None
        values = self._values
        size = len(value)
        index = len(values)
        try:
            room_bytes = self._room_bytes - self._frames[size][2]
        except IndexError:  # larger than the table has it
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
        if not self._is_open and not self._has_settled(index):
            return None
        # As _future, whose call would be felt. Not before the value is kept: it may start the garbage collector,
        # and with it a finalizer that sends.
        sent = self._result, self._first_index + index, self._timestamp_ms, -1, size
        return _new_tuple(FutureRecordMetadata, sent)

    def settle(self) -> None:
        """End it: its values become the batch's, as if each had been appended alone."""
        self._is_open = False
        self._settled = count = len(self._values)
        self._queue.run = None
        topic = self._queue.topic_partition.topic
        if self._runs.by_topic.get(topic) is self:
            # Another thread may just have put a newer one there, which ends then without having been of use.
            self._runs.by_topic.pop(topic, None)
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

    def _has_settled(self, index: int) -> bool:
        """Whether the value kept there was counted by who has settled the run, or does so now."""
        with self._queue.lock:
            return index < self._settled

    def _future(self, index: int, size: int) -> FutureRecordMetadata:
        sent = self._result, self._first_index + index, self._timestamp_ms, -1, size
        return _new_tuple(FutureRecordMetadata, sent)
