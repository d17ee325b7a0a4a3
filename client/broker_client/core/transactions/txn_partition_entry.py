"""The sequence numbers of one partition and the batches that carry them. Mirrors TxnPartitionEntry."""

from __future__ import annotations

from typing import Final

from broker_client.core.batching.producer_batch import NO_PRODUCER_ID_AND_EPOCH, ProducerBatch, ProducerIdAndEpoch
from broker_client.records import NO_OFFSET
from protocol_specs.records.batch_peek import NO_SEQUENCE, increment_sequence

__all__ = ["NO_LAST_ACKED_SEQUENCE", "TxnPartitionEntry"]

NO_LAST_ACKED_SEQUENCE: Final = -1
_SEQUENCES: Final = 2**31


class TxnPartitionEntry:
    """`next_sequence` is for the next batch to be drained; what is in flight is kept by sequence."""

    __slots__ = ("_in_flight", "last_acked_offset", "last_acked_sequence", "next_sequence", "producer_id_and_epoch")

    def __init__(self) -> None:
        self.producer_id_and_epoch = NO_PRODUCER_ID_AND_EPOCH
        self.next_sequence = 0
        self.last_acked_sequence = NO_LAST_ACKED_SEQUENCE
        self.last_acked_offset = NO_OFFSET
        self._in_flight: list[ProducerBatch] = []

    @property
    def has_in_flight_batches(self) -> bool:
        """True if a drained batch has not ended; one that waits for its retry counts."""
        return bool(self._in_flight)

    @property
    def first_in_flight_sequence(self) -> int:
        """The lowest sequence without a response, -1 if all have one."""
        return self._in_flight[0].base_sequence if self._in_flight else NO_SEQUENCE

    def increment_sequence(self, increment: int) -> None:
        """Count the records of a drained batch; wraps from 2^31 - 1 to 0."""
        self.next_sequence = increment_sequence(self.next_sequence, increment)

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        """A batch was drained, or came out of a split."""
        in_flight = self._in_flight
        in_flight.append(batch)
        # A drained batch is the last one mostly; the part of a split one is not.
        if len(in_flight) > 1 and _by_sequence(in_flight[-2]) > _by_sequence(batch):
            in_flight.sort(key=_by_sequence)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        """A batch has ended."""
        self._in_flight = [other for other in self._in_flight if other is not batch]

    def acked(self, last_sequence: int) -> None:
        """Note an acknowledged batch; responses may come out of order after a leader change."""
        self.last_acked_sequence = max(self.last_acked_sequence, last_sequence)

    def start_sequences_at_beginning(self, producer: ProducerIdAndEpoch) -> None:
        """Number the batches in flight anew from 0, under a new epoch."""
        sequence = 0
        for batch in self._in_flight:
            batch.reset_producer_state(producer, sequence)
            sequence = increment_sequence(sequence, batch.record_count)
        self.producer_id_and_epoch = producer
        self.next_sequence = sequence
        self.last_acked_sequence = NO_LAST_ACKED_SEQUENCE

    def adjust_sequences_due_to_failed_batch(self, failed: ProducerBatch) -> None:
        """A batch was surely not written: those behind it in a transaction take its place."""
        count = failed.record_count
        self.next_sequence = _decremented(self.next_sequence, count)
        for batch in self._in_flight:
            if batch.base_sequence >= failed.base_sequence:
                producer = ProducerIdAndEpoch(producer_id=batch.producer_id, epoch=batch.producer_epoch)
                batch.reset_producer_state(producer, _decremented(batch.base_sequence, count))


def _decremented(sequence: int, count: int) -> int:
    return (sequence - count) % _SEQUENCES


def _by_sequence(batch: ProducerBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence
