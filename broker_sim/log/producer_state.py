"""The state of idempotent producers in one log (KIP-98). Mirrors ProducerStateManager, ProducerStateEntry and
ProducerAppendInfo.

The leader checks a batch's producer epoch and sequence before the append; followers only update the state. The state
has the five newest batches of each producer (in 0.11 only the last one), so that a retry of one of them gets a
successful response and is not stored twice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.stored_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, SEQUENCE_MODULUS
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.topic_partition import TopicPartition

BATCHES_TO_RETAIN: Final = 5


class BatchMetadata(NamedTuple):
    """One recent batch of a producer. `timestamp` is its max timestamp."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True, kw_only=True)
class ProducerStateEntry:
    """The state of one producer id in one log."""

    producer_id: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=BATCHES_TO_RETAIN))

    def copy(self) -> ProducerStateEntry:
        """Return an independent copy."""
        return ProducerStateEntry(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            last_timestamp=self.last_timestamp,
            batches=deque(self.batches, self.batches.maxlen),
        )

    @property
    def last_sequence(self) -> int:
        """The sequence of the newest record, -1 without a batch."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerStateManager:
    """The producers of one log, by id, in the order of their first batch; idle ones expire."""

    __slots__ = (
        "_batches_kept",
        "_begin_anywhere",
        "_expiration_check_interval_ms",
        "_next_expiration_check_ms",
        "_producers",
        "_topic_partition",
        "expiration_ms",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        expiration_ms: int,
        expiration_check_interval_ms: int,
        now_ms: int,
        behaviour: ReleaseBehaviour,
    ) -> None:
        self._topic_partition = topic_partition
        self._begin_anywhere = behaviour.unknown_producers_begin_anywhere
        self._batches_kept = behaviour.producer_batches_kept
        self._producers: dict[int, ProducerStateEntry] = {}
        self.expiration_ms = expiration_ms
        """The idle time after which a producer expires; dynamic since KIP-854."""
        self._expiration_check_interval_ms = expiration_check_interval_ms
        self._next_expiration_check_ms = now_ms + expiration_check_interval_ms

    @property
    def active_producers(self) -> Mapping[int, ProducerStateEntry]:
        """Every producer that has not expired, by its id."""
        return self._producers

    def find_duplicate(
        self, producer_id: int, producer_epoch: int, base_sequence: int, last_sequence: int
    ) -> BatchMetadata | None:
        """Return the recent batch of the same epoch and sequences, None if there is none."""
        entry = self._producers.get(producer_id)
        if entry is None or entry.producer_epoch != producer_epoch:
            return None
        for batch in entry.batches:
            if batch.first_sequence == base_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def check(self, producer_id: int, producer_epoch: int, base_sequence: int, offset: int) -> None:
        """Refuse a client's batch whose epoch is old (47) or whose sequence is not the next one (45).

        Raises:
            RecordsRefused: the epoch is old, the sequence is not the next one, or (before 2.5) the producer is unknown.
        """
        self.check_epoch(producer_id, producer_epoch, offset)
        entry = self._producers.get(producer_id)
        if entry is None or entry.producer_epoch == NO_PRODUCER_EPOCH:
            if base_sequence and not self._begin_anywhere:
                reason = f"Found no record of producer {producer_id} at offset {offset} in {self._topic_partition}"
                raise RecordsRefused(ErrorCode.UNKNOWN_PRODUCER_ID, reason)
            # Also a producer that expired or was never issued may start at any sequence.
            return
        if producer_epoch != entry.producer_epoch:
            if base_sequence != 0:
                reason = (
                    f"Invalid sequence number for new epoch of producer {producer_id} at offset {offset} in "
                    f"partition {self._topic_partition}: {producer_epoch} (request epoch), {base_sequence} "
                    f"(seq. number), {entry.producer_epoch} (current producer epoch)"
                )
                raise RecordsRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
            return
        last = entry.last_sequence
        if base_sequence != last + 1 and not (base_sequence == 0 and last == SEQUENCE_MODULUS - 1):
            reason = (
                f"Out of order sequence number for producer {producer_id} at offset {offset} in partition "
                f"{self._topic_partition}: {base_sequence} (incoming seq. number), {last} "
                f"(current end sequence number)"
            )
            raise RecordsRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)

    def check_epoch(self, producer_id: int, producer_epoch: int, offset: int) -> None:
        """Refuse a batch whose epoch is old, also one of a coordinator, which has no sequence to check.

        Raises:
            RecordsRefused: the epoch is old.
        """
        entry = self._producers.get(producer_id)
        last_epoch = NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch
        if producer_epoch < last_epoch:
            reason = (
                f"Epoch of producer {producer_id} at offset {offset} in {self._topic_partition} is "
                f"{producer_epoch}, which is smaller than the last seen epoch {last_epoch}"
            )
            raise RecordsRefused(ErrorCode.INVALID_PRODUCER_EPOCH, reason)

    def update(self, batch: StoredBatch) -> None:
        """Add an appended batch to the state of its producer."""
        entry = self._producers.get(batch.producer_id)
        if entry is None:
            entry = ProducerStateEntry(
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                batches=deque(maxlen=self._batches_kept),
            )
            self._producers[batch.producer_id] = entry
        elif entry.producer_epoch != batch.producer_epoch:
            entry.batches.clear()
            entry.producer_epoch = batch.producer_epoch
        entry.last_timestamp = batch.max_timestamp
        if batch.is_control:
            return
        entry.batches.append(
            BatchMetadata(
                batch.base_sequence,
                batch.last_sequence,
                batch.base_offset,
                batch.last_offset,
                batch.max_timestamp,
            )
        )

    def remove_expired(self, now_ms: int) -> None:
        """Remove idle producers if the periodic check is due; the caller passes the time, so no timer is needed."""
        if now_ms < self._next_expiration_check_ms:
            return
        interval = self._expiration_check_interval_ms
        missed = (now_ms - self._next_expiration_check_ms) // interval
        checked_ms = self._next_expiration_check_ms + missed * interval
        self._next_expiration_check_ms = checked_ms + interval
        idle = [
            producer_id
            for producer_id, entry in self._producers.items()
            if checked_ms - entry.last_timestamp >= self.expiration_ms
        ]
        for producer_id in idle:
            del self._producers[producer_id]

    def snapshot(self) -> dict[int, ProducerStateEntry]:
        """Return a copy of the state, as Kafka writes it to a file when a segment begins."""
        return {producer_id: entry.copy() for producer_id, entry in self._producers.items()}

    def reload(self, snapshot: Mapping[int, ProducerStateEntry], batches: Iterable[StoredBatch]) -> None:
        """Rebuild the state from a snapshot and the batches after it that remain after a truncation."""
        self._producers = {producer_id: entry.copy() for producer_id, entry in snapshot.items()}
        for batch in batches:
            if batch.producer_id >= 0:
                self.update(batch)
