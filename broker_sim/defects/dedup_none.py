"""A leader stores every batch and compares no sequences: `enable.idempotence` has no effect.

The leader takes part in the protocol of KIP-98 and no more. The retry of a batch whose response was lost is stored for
the second time, and a batch that overtakes the retry of an earlier one stays before it. The client sees no error. A
broker that checks sequences (KIP-98) stores each batch once and in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.producer_state import BatchMetadata, ProducerStateEntry
    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["DEFECT"]


class SequencesAreIgnored(ProducerStateManager):
    """Knows no duplicate and no gap."""

    __slots__ = ()

    def find_duplicate(self, *_: int) -> BatchMetadata | None:
        """Return None."""
        return None

    def _check_sequence(self, batch: StoredBatch, entry: ProducerStateEntry) -> None:
        """Take any sequence."""


DEFECT: Final = Defect(
    name="dedup-none",
    lesson=__doc__,
    source="Jepsen: Bufstream 0.1.0; redpanda-data/redpanda#3039",
    affected="brokers that accept InitProducerId without an implementation of KIP-98",
    anomalies=("broker-no-dedup-epoch-bump", "lost-ack-duplicate"),
    substitutes=(SequencesAreIgnored,),
    since="0.11.0",
)
