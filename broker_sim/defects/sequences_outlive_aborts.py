"""A leader recognizes the batches of an aborted transaction as duplicates in the next one.

The leader keeps the sequences of a transaction that was aborted, and compares them with those of the next transaction,
which begins at the same sequence. It takes the new batch for a retry and returns the old offset. The transaction
commits, and its record is nowhere: the acknowledged offset holds an aborted record. Kafka's producers have a newer
epoch after an abort (KIP-360), and a leader compares no sequences of different epochs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.producer_state import BatchMetadata
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction

__all__ = ["DEFECT"]


class SequencesOutliveAborts(ProducerStateManager):
    """Keeps the batches of the last aborted transaction of each producer."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._of_aborted: dict[int, tuple[BatchMetadata, ...]] = {}

    def find_duplicate(
        self, producer_id: int, producer_epoch: int, base_sequence: int, last_sequence: int
    ) -> BatchMetadata | None:
        """Return the recent batch of the same sequences, also one of an earlier epoch that was aborted."""
        known = super().find_duplicate(producer_id, producer_epoch, base_sequence, last_sequence)
        aborted = self._of_aborted.get(producer_id, ())
        sequences = (base_sequence, last_sequence)
        return known or next((each for each in aborted if (each.first_sequence, each.last_sequence) == sequences), None)

    def update(self, batch: StoredBatch) -> AbortedTransaction | None:
        """Add an appended batch; keep the batches of a transaction that it aborts."""
        entry = self.active_producers.get(batch.producer_id)
        batches = () if entry is None else tuple(entry.batches)
        aborted = super().update(batch)
        if aborted is not None:
            self._of_aborted[batch.producer_id] = batches
        return aborted


DEFECT: Final = Defect(
    name="sequences-outlive-aborts",
    lesson=__doc__,
    source="KIP-360; redpanda-data/redpanda#5026",
    affected="Redpanda 22.1; Apache Kafka before 2.5 with clients that begin no new epoch",
    anomalies=("abort-seq-reuse-loss",),
    substitutes=(SequencesOutliveAborts,),
    since="0.11.0",
)
