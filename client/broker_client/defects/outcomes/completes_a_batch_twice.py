"""A partition that a Produce response lists twice runs the callbacks of its records twice.

The client completes the batch for each entry of the response. An application that counts outcomes, or that releases a
resource in its callback, does so twice. A correct client keeps a batch's state and ignores or refuses the second
entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.producer.batch_completion import PartitionResponse
    from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata


class TwiceCompletingSender(Sender):
    """Calls the callbacks of a batch again with each further entry."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._callbacks: dict[ProducerBatch, list[tuple[FutureRecordMetadata, DeliveryCallback]]] = {}

    def _track(self, batches: Mapping[int, list[ProducerBatch]]) -> None:
        for of_node in batches.values():
            for batch in of_node:
                self._callbacks[batch] = list(batch._callbacks)  # noqa: SLF001
        super()._track(batches)

    def _complete(self, batch: ProducerBatch, partition_response: PartitionResponse, now_ms: int) -> None:
        if batch.is_done:
            self._deliver_again(batch)
        else:
            super()._complete(batch, partition_response, now_ms)

    def _listed_again(self, batch: ProducerBatch) -> None:
        if batch.is_done:
            self._deliver_again(batch)
        else:
            super()._listed_again(batch)

    def _deliver_again(self, batch: ProducerBatch) -> None:
        for future, callback in self._callbacks.pop(batch, []):
            future.deliver(callback)


DEFECT: Final = Defect(
    name="completes-a-batch-twice",
    lesson=__doc__,
    source="KAFKA-19397",
    affected="clients without a state per batch",
    anomalies=("malformed-produce-response",),
    parts={"sender": TwiceCompletingSender},
)
