"""Records without a key collect in the partition of the slowest broker.

The sticky partitioner changes its partition when a new batch is created. A fast broker takes a batch at once, and
with linger.ms=0 the next record begins a new one: the partition changes after one record. A slow broker has its
requests in flight, so its batch stays open and grows, and the partition changes rarely. The slower a broker, the more
records it gets. A correct client changes the partition after batch.size bytes, and prefers short queues (KIP-794).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.defects.defect import Defect
from broker_client.records import UNKNOWN_PARTITION

if TYPE_CHECKING:
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata


class StickyPerBatch(RecordAccumulator):
    """Draws another partition for each batch of records without partition."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._sticky: dict[str, int] = {}

    def append(self, topic: str, partition: int, *record: Any) -> FutureRecordMetadata | None:
        """Choose the partition first. The arguments are those of RecordAccumulator.append."""
        if partition == UNKNOWN_PARTITION:
            cluster: Cluster = record[6]
            partition = self._partition_for(topic, cluster)
        return super().append(topic, partition, *record)

    def _partition_for(self, topic: str, cluster: Cluster) -> int:
        current = self._sticky.get(topic)
        if current is not None:
            queue = self.topic_info(topic).queue(current)
            if queue.batches and not queue.batches[-1].is_full:
                return current
        others = [one for one in cluster.available_partitions(topic) if one != current]
        chosen = self._sticky[topic] = self._random.choice(others) if others else current or 0
        return chosen


DEFECT: Final = Defect(
    name="sticky-partition-per-batch",
    lesson=__doc__,
    source="KIP-794; KAFKA-10888; KAFKA-14156",
    affected="Java 2.4 to 3.2",
    anomalies=("sticky-partitioner-runaway",),
    parts={"accumulator": StickyPerBatch},
)
