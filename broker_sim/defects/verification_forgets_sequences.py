"""A leader appends a later batch of a transaction while the first one has failed its verification and is retried.

A leader has the coordinator confirm that a transaction exists before it appends the first records (KIP-890). A
verification that fails has an error that the producer retries. If the next batch, already sent, passes its own
verification meanwhile, and the leader does not know the producer yet, it may begin at any sequence: the log then has
the second batch without the first. Every retry of the first one is out of order (45), and the transaction gets no
further. A leader that remembers the lowest sequence under verification refuses the second batch until the first one is
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["DEFECT"]


class VerificationForgetsSequences(ProducerStateManager):
    """Compares no sequence with those under verification."""

    __slots__ = ()

    def _check_verified_sequence(self, batch: StoredBatch, *, has_batches: bool) -> None:
        """Take any sequence."""


DEFECT: Final = Defect(
    name="verification-forgets-sequences",
    lesson=__doc__,
    source="KAFKA-14920; KAFKA-15459; KAFKA-16386",
    affected="Apache Kafka before 3.6.0 was released",
    anomalies=("verification-oosn-loop",),
    substitutes=(VerificationForgetsSequences,),
    since="3.6",
)
