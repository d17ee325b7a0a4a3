"""A leader recognizes the retry of a stored batch, and returns the offset 0 in place of the batch's own.

The record is stored once, but its acknowledgement has the offset of another record. An application that keeps offsets
(to find a record again, or to compare positions) is wrong without any error. Kafka keeps the offset of each batch that
it remembers and returns it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.producer_state import BatchMetadata

__all__ = ["DEFECT"]


class DuplicatesAreAtZero(ProducerStateManager):
    """Forgets where a batch begins; its end stays known, which the acknowledgement waits for."""

    __slots__ = ()

    def find_duplicate(self, *batch: int) -> BatchMetadata | None:
        """Return the batch with the first offset 0."""
        known = super().find_duplicate(*batch)
        return None if known is None else known._replace(first_offset=0)


DEFECT: Final = Defect(
    name="dedup-returns-offset-0",
    lesson=__doc__,
    source="Jepsen: Bufstream 0.1.0",
    affected="Bufstream 0.1.0",
    anomalies=("wrong-offset-in-ack",),
    substitutes=(DuplicatesAreAtZero,),
    since="0.11.0",
)
