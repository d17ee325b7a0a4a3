"""The producer believes itself idempotent and sends batches without a producer id.

Its documentation names enable.idempotence=true as the default, and the default does not reach the sender; or another
option (acks=1, retries=0, more than five requests in flight) turns it off with no more than a line in the log. A lost
response then stores a batch twice. A correct client applies its default, and refuses options that contradict an
explicit `true`.
"""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect


class PlainAccumulator(RecordAccumulator):
    """Gives batches no sequence."""

    def __init__(self, *, transactions: Any, **collaborators: Any) -> None:
        del transactions
        super().__init__(transactions=None, **collaborators)


class PlainSender(Sender):
    """Requests no producer id."""

    def __init__(self, *, transactions: Any, **collaborators: Any) -> None:
        del transactions
        super().__init__(transactions=None, **collaborators)


DEFECT: Final = Defect(
    name="idempotence-not-applied",
    lesson=__doc__,
    source="KAFKA-13598",
    affected="Java 3.0.0 and 3.1.0",
    anomalies=("idempotence-silently-off",),
    parts={"accumulator": PlainAccumulator, "sender": PlainSender},
)
