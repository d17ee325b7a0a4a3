"""Takes the queued batches of a topic away, for defects that end them in a wrong way. No defect itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import RecordAccumulator

__all__ = ["take_queued"]


def take_queued(accumulator: RecordAccumulator, topic: str, partition: int | None = None) -> list[ProducerBatch]:
    """Return the batches of a topic, or of one partition, that no request carries; their queues are empty then."""
    taken = []
    for batch in accumulator.incomplete_batches():
        key = batch.topic_partition
        if key.topic == topic and partition in (None, key.partition) and not batch.in_flight:
            accumulator._take_out(batch)  # noqa: SLF001 - as abort_batches does
            taken.append(batch)
    return taken
