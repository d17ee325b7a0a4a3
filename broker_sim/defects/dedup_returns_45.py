"""A leader refuses the retry of a batch that it has stored, with OUT_OF_ORDER_SEQUENCE_NUMBER (45).

The leader checks that a batch's sequence is the next one, and does not compare it with the batches that it remembers.
If the response to a stored batch is lost, the producer sends the batch again and gets 45, although nothing is missing.
A client that begins a new epoch then and sends the batch with sequence 0 stores it for the second time: a duplicate
with `enable.idempotence`. A leader that returns the stored batch's offset (KIP-98) leaves no doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.producer_state import BatchMetadata

__all__ = ["DEFECT"]


class NoDuplicateIsKnown(ProducerStateManager):
    """Takes no batch for a retry; the check of the sequence then refuses it."""

    __slots__ = ()

    def find_duplicate(self, *_: int) -> BatchMetadata | None:
        """Return None."""
        return None


DEFECT: Final = Defect(
    name="dedup-returns-45",
    lesson=__doc__,
    source="redpanda-data/redpanda#3039; Jepsen: Redpanda 21.10.1",
    affected="Redpanda 21.10",
    anomalies=("broker-no-dedup-epoch-bump",),
    substitutes=(NoDuplicateIsKnown,),
    since="0.11.0",
)
