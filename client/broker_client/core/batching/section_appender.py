"""Batches that come whole into the accumulator's queues. RecordAccumulator.append, for records written by the column.

The memory, the queue's lock and the sticky partition's turns are those of `append`: a table and single records of other
threads share them, and a record that is sent after a table comes behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.errors import ProducerClosed
from broker_client.records import UNKNOWN_PARTITION
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD

if TYPE_CHECKING:
    from broker_client.core.batching.partition_queue import TopicInfo
    from broker_client.core.batching.partitioners import StickyPartition
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import RecordAccumulator
    from broker_client.core.network.cluster import Cluster
    from protocol_specs.records.columnar.builder import RecordsSection

__all__ = ["SectionAppender", "section_memory"]

# Records that trickle in share a buffer of batch.size, taken before they are known. Those of a table are all there, and
# what writing them together saves would be lost by cutting them so small.
BATCH_SIZES_AT_ONCE: Final = 16
# A batch takes no more of buffer.memory, so that one can be made while others are on their way.
_MEMORY_SHARE: Final = 4


def section_memory(section: RecordsSection) -> int:
    """The bytes of buffer.memory that a batch of these records takes."""
    return RECORD_BATCH_OVERHEAD + len(section.section)


class SectionAppender:
    """For one topic of an accumulator; from any thread."""

    __slots__ = ("_accumulator", "_info", "_topic")

    def __init__(self, accumulator: RecordAccumulator, topic: str) -> None:
        self._accumulator = accumulator
        self._topic = topic
        self._info: TopicInfo = accumulator.topic_info(topic)

    def append(
        self, partition: int, section: RecordsSection, now_ms: int, cluster: Cluster, granted_bytes: int = 0
    ) -> ProducerBatch | None:
        """Queue a batch of its own behind what its partition has.

        None means: no memory; wait for `section_memory` bytes and come back with them as `granted_bytes`.
        """
        accumulator, partitioner = self._accumulator, self._info.partitioner
        size = section_memory(section)
        if not granted_bytes and not accumulator.pool.try_allocate(size):
            self._refuse_when_closed(0)
            return None
        while True:
            sticky = partitioner.current(cluster) if partition == UNKNOWN_PARTITION else None
            queue = self._info.queue(partition if sticky is None else sticky.partition)
            with queue.lock:
                self._refuse_when_closed(size)
                if sticky is not None and self._has_moved(sticky, cluster):
                    continue  # another caller was faster, or a switch that waited for a full batch is due
                batch = accumulator.ready_made(queue, section, size, now_ms)
                if sticky is not None:
                    sticky.produced_bytes += size
                    partitioner.maybe_switch(sticky, cluster, enable_switch=True)
            accumulator.wakeup()
            return batch

    def sticky_for(self, size_bytes: int, cluster: Cluster) -> int:
        """The partition for so many bytes of records without a key, chosen before they are appended."""
        partitioner = self._info.partitioner
        while True:
            sticky = partitioner.current(cluster)
            with self._info.queue(sticky.partition).lock:
                if not self._has_moved(sticky, cluster):
                    sticky.produced_bytes += size_bytes
                    partitioner.maybe_switch(sticky, cluster, enable_switch=True)
                    return sticky.partition

    def limit_bytes(self, record_size_max: int) -> int:
        """How large a batch may be before compression; max.request.size (`record_size_max`) counts then, too."""
        accumulator = self._accumulator
        batch_size = accumulator.config.batch_size
        aimed = BATCH_SIZES_AT_ONCE * batch_size
        grown = RECORD_BATCH_OVERHEAD + int((aimed - RECORD_BATCH_OVERHEAD) / accumulator.growth_of(self._topic))
        memory_bytes = accumulator.pool.memory_bytes
        return min(grown, record_size_max, max(batch_size, memory_bytes // _MEMORY_SHARE), memory_bytes)

    def _has_moved(self, sticky: StickyPartition, cluster: Cluster) -> bool:
        partitioner = self._info.partitioner
        if partitioner.sticky is sticky:
            queue = self._info.queue(sticky.partition)
            queue.flush()
            batches = queue.batches
            if not batches or batches[-1].is_full:
                partitioner.maybe_switch(sticky, cluster, enable_switch=True)
        return partitioner.sticky is not sticky

    def _refuse_when_closed(self, granted_bytes: int) -> None:
        if self._accumulator.closed:
            if granted_bytes:
                self._accumulator.pool.deallocate(granted_bytes)
            raise ProducerClosed("the producer was closed while a send was in progress")
