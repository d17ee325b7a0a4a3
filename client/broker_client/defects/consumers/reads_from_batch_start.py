"""A consumer that starts within a batch gets the records before its position again.

A broker returns whole batches: a fetch from the middle of one begins with records that were read and committed
before. The client delivers all of them, so that each restart, seek or rebalance repeats a part of a batch, and larger
batches repeat more. A correct client skips the records below its position.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from broker_client.core.consumer.fetch_buffer import FetchBuffer
from broker_client.core.consumer.fetched_batches import FetchedBatch, FetchedPartition
from broker_client.defects.defect import Defect


class WholeBatches(FetchedPartition):
    """Returns every batch from its first record on."""

    def batches(self) -> list[FetchedBatch]:
        """Move the positions back."""
        return [replace(one, position=int.from_bytes(one.batch[:8], "big")) for one in super().batches()]


class UnfilteredBuffer(FetchBuffer):
    """Reads partitions in this way."""

    _partition: ClassVar[type[FetchedPartition]] = WholeBatches


DEFECT: Final = Defect(
    name="reads-from-batch-start",
    lesson=__doc__,
    source="kafka-python#1239; kafka-python#1367",
    affected="kafka-python before 1.4.0, for compressed messages",
    anomalies=("mid-batch-redelivery",),
    parts={"fetch_buffer": UnfilteredBuffer},
)
