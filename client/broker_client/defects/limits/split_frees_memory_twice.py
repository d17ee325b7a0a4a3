"""The memory of a batch that was split comes back twice, and the buffer exceeds its limit.

The broker refuses a batch of several records as too large, and the client splits it and frees its memory. The
original stays in the list of batches that can expire. When delivery.timeout.ms has passed it is freed again: the pool
has more memory than buffer.memory, and the limit no longer holds. A correct client forgets the original when it is
split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.batching.buffer_pool import BufferPool
from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch


class UncheckedPool(BufferPool):
    """Takes back more than it has granted."""

    def deallocate(self, size_bytes: int) -> None:
        """Add it without a check of the sum."""
        with self._lock:
            self._non_pooled_bytes += size_bytes
            ended = self._serve()
        self._notify(ended)


class DoubleFree(RecordAccumulator):
    """Frees the memory of split batches once more when they expire."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._split: list[tuple[int, int]] = []

    def split_and_reenqueue(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """Remember the original."""
        if batch.granted_bytes:
            self._split.append((batch.created_ms, batch.granted_bytes))
        return super().split_and_reenqueue(batch)

    def first_created_ms(self) -> int:
        """The originals of splits count."""
        return min([super().first_created_ms(), *(created_ms for created_ms, _ in self._split)])

    def expired_batches(self, now_ms: int) -> list[ProducerBatch]:
        """Free the originals that have expired."""
        late = [one for one in self._split if now_ms - one[0] >= self.config.delivery_timeout_ms]
        for one in late:
            self._split.remove(one)
            self.pool.deallocate(one[1])
        return super().expired_batches(now_ms)


DEFECT: Final = Defect(
    name="split-frees-memory-twice",
    lesson=__doc__,
    source="KAFKA-8325",
    affected="Java before 2.3.1 and 2.4.0",
    anomalies=("split-double-free",),
    parts={"accumulator": DoubleFree, "buffer_pool": UncheckedPool},
)
