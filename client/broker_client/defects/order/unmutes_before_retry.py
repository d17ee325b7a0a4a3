"""A partition is free for newer batches while a failed batch of it waits for its retry.

One request per connection is allowed, the first batch fails with a retriable error, and the client hands it to a
retry queue of its own. Until its back-off is over the partition counts as idle, and buffered records go out: they are
stored before the older ones. A correct client keeps the partition muted until the failed batch has ended, or lets the
broker check sequences (idempotence).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import ReadyCheckResult
    from broker_client.core.network.cluster import Cluster


class UnmutingAccumulator(RecordAccumulator):
    """Keeps batches that back off beside the queues."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._backing_off: dict[ProducerBatch, PartitionQueue] = {}

    def _put_back(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        self._backing_off[batch] = queue

    def ready(self, cluster: Cluster, now_ms: int) -> ReadyCheckResult:
        """Queue again what has backed off, first of its partition."""
        for batch, queue in list(self._backing_off.items()):
            if not batch.is_backing_off(now_ms):
                self._queue_again(batch, queue)
        result = super().ready(cluster, now_ms)
        for batch in self._backing_off:
            left_ms = batch.retry_backoff_ms - batch.waited_ms(now_ms)
            result.next_ready_check_ms = min(result.next_ready_check_ms, left_ms)
        return result

    @property
    def has_undrained(self) -> bool:
        """True also while a batch backs off."""
        return bool(self._backing_off) or super().has_undrained

    def expired_batches(self, now_ms: int) -> list[ProducerBatch]:
        """Those that back off expire, too."""
        for batch, queue in list(self._backing_off.items()):
            if batch.has_reached_delivery_timeout(self.config.delivery_timeout_ms, now_ms):
                self._queue_again(batch, queue)
        return super().expired_batches(now_ms)

    def _queue_again(self, batch: ProducerBatch, queue: PartitionQueue) -> None:
        del self._backing_off[batch]
        with queue.lock:
            super()._put_back(queue, batch)


DEFECT: Final = Defect(
    name="unmutes-before-retry",
    lesson=__doc__,
    source="sarama#2619; sarama#2860; sarama#3422",
    affected="sarama with one open request and without Idempotent, until #3644",
    anomalies=("async-retry-reorder",),
    parts={"accumulator": UnmutingAccumulator},
)
