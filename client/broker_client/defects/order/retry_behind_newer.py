"""A batch that failed with a retriable error is queued behind the batches that were made after it.

The client parks the failed batch while it backs off and goes on with its queue. Nothing else reorders with
max.in.flight.requests.per.connection=1, so an application that set it for the order of its records loses that order at
the first retriable error. A correct client puts the batch back at the head of its partition's queue, and sends nothing
of the partition before it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.producer_batch import ProducerBatch


class ParkingAccumulator(RecordAccumulator):
    """Appends a batch that is to be retried at the end of its queue."""

    def _put_back(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        queue.batches = deque([*queue.batches, batch])
        self._out_of_order[queue] = None


DEFECT: Final = Defect(
    name="retry-behind-newer",
    anomalies=("retry-queue-reorder",),
    source="librdkafka#1092; librdkafka#623",
    affected="librdkafka before 0.11.4",
    lesson=__doc__,
    parts={"accumulator": ParkingAccumulator},
)
