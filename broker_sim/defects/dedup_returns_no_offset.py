"""A leader recognizes the retry of a stored batch, and returns no offset for it (-1).

The record is stored once and acknowledged, but the client cannot report where it is: Java's `RecordMetadata.hasOffset`
is false, as with `acks=0`. A client that takes -1 for an offset reports a position that does not exist. Kafka keeps
the offset of each batch that it remembers and returns it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.producer_state import BatchMetadata

__all__ = ["DEFECT"]


class DuplicatesHaveNoOffset(ProducerStateManager):
    """Forgets where a batch begins; its end stays known, which the acknowledgement waits for."""

    __slots__ = ()

    def find_duplicate(self, *batch: int) -> BatchMetadata | None:
        """Return the batch with the first offset -1."""
        known = super().find_duplicate(*batch)
        return None if known is None else known._replace(first_offset=-1)


DEFECT: Final = Defect(
    name="dedup-returns-no-offset",
    lesson=__doc__,
    source="Jepsen: Bufstream 0.1.0",
    affected="brokers that remember the sequences of batches without their offsets",
    anomalies=("wrong-offset-in-ack",),
    substitutes=(DuplicatesHaveNoOffset,),
    since="0.11.0",
)
