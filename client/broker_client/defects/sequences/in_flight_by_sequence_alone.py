"""Two batches in flight with the same base sequence, of two epochs, are taken for one.

The batches in flight of a partition are kept by base sequence. After a new epoch the first batch of it has a sequence
that an older batch has, too: it replaces that batch in the table. When both have their responses the second is not
found any more, the client raises an illegal state, and the batch's records never get an outcome. A correct client
compares producer id and epoch first, and sends nothing of the new epoch before the old one has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.core.transactions.txn_partition_entry import TxnPartitionEntry
from broker_client.defects.defect import Defect
from broker_client.errors import IllegalState

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.records import TopicPartition


class BySequenceAlone(TxnPartitionEntry):
    """Has one batch in flight per base sequence."""

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        """Replace the batch with this base sequence."""
        self._in_flight = [other for other in self._in_flight if other.base_sequence != batch.base_sequence]
        super().add_in_flight_batch(batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        """Remove the batch with this base sequence. Raises IllegalState without one."""
        if all(other.base_sequence != batch.base_sequence for other in self._in_flight):
            raise IllegalState(f"no batch of {batch.topic_partition} in flight has sequence {batch.base_sequence}")
        self._in_flight = [other for other in self._in_flight if other.base_sequence != batch.base_sequence]


class OverlappingEpochs(ProducerIdState):
    """Begins a new epoch in a partition while batches of the old one are in flight."""

    def maybe_update_producer_id_and_epoch(self, key: TopicPartition) -> None:
        """Begin at once; what is in flight keeps its epoch."""
        entry = self._entry(key)
        if entry.producer_id_and_epoch != self.producer_id_and_epoch:
            in_flight, entry._in_flight = entry._in_flight, []  # noqa: SLF001
            entry.start_sequences_at_beginning(self.producer_id_and_epoch)
            entry._in_flight = in_flight  # noqa: SLF001

    def has_stale_producer_id_and_epoch(self, key: TopicPartition) -> bool:  # noqa: ARG002
        """False: no batch waits for those of the old epoch."""
        return False

    def _entry(self, key: TopicPartition) -> TxnPartitionEntry:
        entry = self._partitions.get(key)
        if entry is None:
            entry = self._partitions[key] = BySequenceAlone()
        return entry


DEFECT: Final = Defect(
    name="in-flight-by-sequence-alone",
    lesson=__doc__,
    source="KAFKA-13794",
    affected="Java before 3.0.2, 3.1.1 and 3.2.0",
    anomalies=("inflight-comparator-removal",),
    parts={"producer_id_state": OverlappingEpochs},
)
