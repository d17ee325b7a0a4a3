"""Takes away or fails the queued batches of a topic, for defects that end them in a wrong way. No defect itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import RecordAccumulator
    from broker_client.errors import ProducerError

__all__ = ["fail_queued", "take_queued"]


def take_queued(accumulator: RecordAccumulator, topic: str, partition: int | None = None) -> list[ProducerBatch]:
    """Return the batches of a topic, or of one partition, that no request carries; their queues are empty then."""
    taken = []
    for batch in accumulator.incomplete_batches():
        key = batch.topic_partition
        if key.topic == topic and partition in (None, key.partition) and not batch.in_flight:
            accumulator._take_out(batch)  # noqa: SLF001 - as abort_batches does
            taken.append(batch)
    return taken


def fail_queued(accumulator: RecordAccumulator, error: ProducerError, topic: str, partition: int | None = None) -> None:
    """Fail the batches of a topic, or of one partition, that no request carries."""
    for batch in take_queued(accumulator, topic, partition):
        batch.fail(lambda _: error)
        accumulator.deallocate(batch)
