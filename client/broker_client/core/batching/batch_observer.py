"""The steps of each batch as method calls, at the moment each happens; every method of this class does nothing.

RecordAccumulator, Sender and BatchCompletion call one observer. It observes alone: it must not change a batch, call the
producer, or raise. Calls come from whichever thread makes the step, those of appends under the lock of the batch's
queue. Kafka has no counterpart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.producer.trace import BatchEventKind, ReadyReason

__all__ = ["BatchObserver"]


class BatchObserver:
    """Observes nothing; subclasses override the steps that they need."""

    __slots__ = ()

    def created(self, batch: ProducerBatch, *, waited: bool) -> None:
        """The BufferPool has allocated memory; `waited` if a caller had to wait for it. No record is appended yet."""

    def ready_made(self, batch: ProducerBatch) -> None:
        """A batch of a table's rows is in its queue: it accepts no records."""

    def appended(self, batch: ProducerBatch) -> None:
        """One record was appended."""

    def closed(self, batch: ProducerBatch) -> None:
        """The last batch of a queue accepts no more records, because it is full or another one follows."""

    def checked(self, queue: PartitionQueue, ready_now: ReadyReason | None, now_ms: int) -> None:
        """The Sender has checked whether the head of a queue is ready; `ready_now` makes every batch ready."""

    def drained(self, node: int, batches: Sequence[ProducerBatch]) -> None:
        """The Sender has taken batches for a request to `node`."""

    def sent(self, batches: Iterable[ProducerBatch], node: int, correlation_id: int) -> None:
        """The connection of `node` has got the request of these batches."""

    def completed(self, kind: BatchEventKind, batch: ProducerBatch, detail: str = "", *, error: str = "") -> None:
        """An attempt or the batch itself has ended: RETRIED, SPLIT, EXPIRED, ACKNOWLEDGED or FAILED."""

    def split(self, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """A batch was split into `parts`, which are in its queue."""

    def freed(self, batch: ProducerBatch, size_bytes: int) -> None:
        """A batch is no longer used; `size_bytes` are back in the BufferPool (0 for a part of a split batch)."""
