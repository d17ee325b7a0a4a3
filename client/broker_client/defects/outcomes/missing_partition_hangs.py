"""A partition that is missing in a Produce response never gets an outcome.

The client handles the partitions that the response lists and takes the request for ended. A batch whose partition is
not listed is neither completed nor failed, and delivery.timeout.ms no longer applies to it: a flush waits for ever. A
correct client fails or retries what the response lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.records import TopicPartition
    from protocol_specs.messages.produce import ProduceResponse


class TrustingSender(Sender):
    """Forgets every batch of a request that has a response."""

    def _handle_partitions(
        self,
        response: ProduceResponse,
        now_ms: int,
        batches: Mapping[TopicPartition, ProducerBatch],
        names: Mapping[bytes, str],
    ) -> None:
        super()._handle_partitions(response, now_ms, batches, names)
        for batch in batches.values():
            if batch.in_flight:
                self._forget_in_flight(batch)


DEFECT: Final = Defect(
    name="missing-partition-hangs",
    lesson=__doc__,
    source="KAFKA-19397",
    affected="clients that trust the list of partitions",
    anomalies=("malformed-produce-response",),
    parts={"sender": TrustingSender},
)
