"""The state of idempotent and transactional producers in one log (KIP-98). Mirrors ProducerStateManager,
ProducerStateEntry and ProducerAppendInfo.

The leader checks a batch's producer epoch and sequence, or a marker's epochs, before the append; followers only update
the state. The state has the five newest batches of each producer (in 0.11 only the last one), so that a retry of one of
them gets a successful response and is not stored twice, and the start of its open transaction.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.stored_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, SEQUENCE_MODULUS
from broker_sim.log.transaction_index import AbortedTransaction
from broker_sim.log.unstable_transactions import UnstableTransactions
from broker_sim.log.verification_states import VerificationStates
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import CONTROL_FLAG_MASK, TRANSACTIONAL_FLAG_MASK
from protocol_specs.records.control_records import marker_of_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.log.log_segment import LogSegment
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.topic_partition import TopicPartition

BATCHES_TO_RETAIN: Final = 5
NO_COORDINATOR_EPOCH: Final = -1
NO_TRANSACTION: Final = -1
"""The start offset of the transaction of a producer that has none open."""
EPOCH_BUMPING_TRANSACTIONS: Final = 2
UNKNOWN_TRANSACTION_VERSION: Final = -1
"""The transaction version whose markers have a newer epoch than the records before them (KIP-890)."""
LAST_PRODUCER_EPOCH: Final = 2**15 - 1


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
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    """The epoch of the coordinator that wrote the last marker."""
    transaction_start: int = NO_TRANSACTION
    """The first offset of the open transaction."""
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=BATCHES_TO_RETAIN))

    def copy(self, *, batches: int = BATCHES_TO_RETAIN) -> ProducerStateEntry:
        """Return an independent copy with the newest batches; a snapshot has one."""
        kept = list(self.batches)[-batches:]
        return ProducerStateEntry(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            last_timestamp=self.last_timestamp,
            coordinator_epoch=self.coordinator_epoch,
            transaction_start=self.transaction_start,
            batches=deque(kept, self.batches.maxlen),
        )

    @property
    def last_sequence(self) -> int:
        """The sequence of the newest record, -1 without a batch."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """The offset of the newest record, -1 without a batch."""
        return self.batches[-1].last_offset if self.batches else -1


class ProducerStateManager:
    """The producers of one log, by id, in the order of their first batch; idle ones expire."""

    __slots__ = (
        "_behaviour",
        "_expiration_check_interval_ms",
        "_late_snapshots",
        "_next_expiration_check_ms",
        "_producers",
        "_topic_partition",
        "expiration_ms",
        "transactions",
        "verifications",
        "verifies_transactions",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        expiration_ms: int,
        expiration_check_interval_ms: int,
        now_ms: int,
        behaviour: ReleaseBehaviour,
        verifies_transactions: bool,
    ) -> None:
        self._topic_partition = topic_partition
        self._behaviour = behaviour
        self._producers: dict[int, ProducerStateEntry] = {}
        self.transactions = UnstableTransactions()
        self.verifications = VerificationStates(epochs_count=behaviour.verification_checks_epochs)
        self.verifies_transactions = verifies_transactions
        """True if a transaction begins only with a guard; dynamic."""
        self.expiration_ms = expiration_ms
        """The idle time after which a producer expires; dynamic since KIP-854."""
        self._expiration_check_interval_ms = expiration_check_interval_ms
        self._next_expiration_check_ms = now_ms + expiration_check_interval_ms
        self._late_snapshots: dict[int, Mapping[int, ProducerStateEntry]] = {}
        """By offset the snapshots that were taken where no segment begins: after a truncation, and at a start."""

    def use_release(self, behaviour: ReleaseBehaviour) -> None:
        """Check batches as a broker of another release."""
        self._behaviour = behaviour
        self.verifications = VerificationStates(epochs_count=behaviour.verification_checks_epochs)

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

    def check(self, batch: StoredBatch) -> None:
        """Refuse a client's batch whose epoch is old (47), whose sequence is not the next one (45), or which is not
        part of the open transaction of its producer (48).

        While a verification goes on, no sequence above its lowest one is the next: a batch would overtake an earlier
        one whose verification has failed and is retried.

        Raises:
            RecordsRefused: one of these, or (before 2.5) the producer is unknown.
        """
        entry = self._producers.get(batch.producer_id)
        if (
            entry is not None
            and entry.batches
            and batch.base_sequence == entry.batches[-1].last_sequence + 1
            and batch.producer_epoch == entry.producer_epoch
            and not self.verifications.states
            and (entry.transaction_start == NO_TRANSACTION or batch.attributes & TRANSACTIONAL_FLAG_MASK)
        ):
            return  # as for nearly all batches
        if entry is None:
            self._check_epoch(batch, NO_PRODUCER_EPOCH)
            if self.verifications.states:
                self._check_verified_sequence(batch, has_batches=False)
            if batch.base_sequence and not self._behaviour.unknown_producers_begin_anywhere:
                raise self._unknown_producer(batch)
            # Also a producer that expired or was never issued may start at any sequence.
            return
        self._check_epoch(batch, entry.producer_epoch)
        if self.verifications.states:
            self._check_verified_sequence(batch, has_batches=bool(entry.batches))
        self._check_sequence(batch, entry)
        self._check_transaction(batch, entry)

    def _unknown_producer(self, batch: StoredBatch) -> RecordsRefused:
        return RecordsRefused(ErrorCode.UNKNOWN_PRODUCER_ID, f"Found no record of {self._place(batch)}")

    def _place(self, batch: StoredBatch) -> str:
        return f"producer {batch.producer_id} at offset {batch.base_offset} in partition {self._topic_partition}"

    def _check_verified_sequence(self, batch: StoredBatch, *, has_batches: bool) -> None:
        state = self.verifications.states.get(batch.producer_id)
        if state is None:
            return
        checked = self._behaviour.verification_checks_epochs
        first = state.supports_epoch_bump and not has_batches and checked and batch.base_sequence != 0
        if first or batch.base_sequence > state.lowest_sequence:
            reason = (
                f"Out of order sequence number for {self._place(batch)}: {batch.base_sequence} (incoming seq. number), "
                f"{0 if first else state.lowest_sequence} (earliest seen sequence)"
            )
            raise RecordsRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool, now_ms: int
    ) -> object | None:
        """Return the guard for a batch that begins a transaction, None if the transaction is open here.

        Mirrors UnifiedLog.maybeStartTransactionVerification.

        Raises:
            RecordsRefused: the epoch is old (since 4.1; else the append refuses it).
        """
        entry = self._producers.get(producer_id)
        if entry is not None:
            if producer_epoch < entry.producer_epoch and self._behaviour.verification_checks_epochs:
                place = f"producer {producer_id} in partition {self._topic_partition}"
                raise _old_epoch(place, producer_epoch, entry.producer_epoch)
            if self._is_open(entry, producer_epoch):
                return None
        return self.verifications.start(
            producer_id, producer_epoch, sequence, supports_epoch_bump=supports_epoch_bump, now_ms=now_ms
        )

    def _is_open(self, entry: ProducerStateEntry, epoch: int) -> bool:
        same_epoch = epoch == entry.producer_epoch or not self._behaviour.verified_transactions_have_epochs
        return entry.transaction_start != NO_TRANSACTION and same_epoch

    def check_verified(self, batch: StoredBatch, guard: object | None) -> None:
        """Refuse a transactional batch that begins a transaction without the guard of its verification (48).

        Raises:
            RecordsRefused: the guard is not that of the producer's verification, or (since 4.1) the epoch is old.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is not None:
            if self._is_open(entry, batch.producer_epoch):
                return
            if self._behaviour.verification_checks_epochs:
                self._check_epoch(batch, entry.producer_epoch)
        state = self.verifications.states.get(batch.producer_id)
        if self.verifies_transactions and (guard is None or state is None or state.guard is not guard):
            raise RecordsRefused(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")

    def _check_sequence(self, batch: StoredBatch, entry: ProducerStateEntry) -> None:
        base_sequence = batch.base_sequence
        if entry.producer_epoch == NO_PRODUCER_EPOCH and self._behaviour.unknown_producers_begin_anywhere:
            return
        if batch.producer_epoch != entry.producer_epoch:
            if base_sequence == 0:
                return
            if entry.producer_epoch == NO_PRODUCER_EPOCH:
                raise self._unknown_producer(batch)
            reason = (
                f"Invalid sequence number for new epoch of {self._place(batch)}: {batch.producer_epoch} "
                f"(request epoch), {base_sequence} (seq. number), {entry.producer_epoch} (current producer epoch)"
            )
            raise RecordsRefused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        last = entry.last_sequence
        if base_sequence != last + 1 and not (base_sequence == 0 and last == SEQUENCE_MODULUS - 1):
            reason = (
                f"Out of order sequence number for {self._place(batch)}: {base_sequence} (incoming seq. number), "
                f"{last} (current end sequence number)"
            )
            unknown = not entry.batches and self._behaviour.producers_known_by_markers_are_unknown
            raise RecordsRefused(
                ErrorCode.UNKNOWN_PRODUCER_ID if unknown else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason
            )

    def _check_transaction(self, batch: StoredBatch, entry: ProducerStateEntry) -> None:
        if entry.transaction_start != NO_TRANSACTION and not batch.is_transactional:
            reason = f"Expected transactional write from {self._place(batch)}"
            raise RecordsRefused(ErrorCode.INVALID_TXN_STATE, reason)

    def check_of_coordinator(self, batch: StoredBatch) -> None:
        """Refuse a coordinator's batch of records whose epoch is old; it has no sequence to check.

        Raises:
            RecordsRefused: the epoch is old, or a transaction is open that the batch is not a part of.
        """
        entry = self._producers.get(batch.producer_id)
        self._check_epoch(batch, NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch)
        if entry is not None:
            self._check_transaction(batch, entry)

    def check_marker(self, batch: StoredBatch, transaction_version: int) -> None:
        """Refuse a marker of an old producer epoch (47), of an old coordinator (52) or of an unknown version (-1).

        With transaction version 2 the marker has a newer epoch than the transaction. An equal one is a retry if no
        transaction is open; or the producer's epochs are exhausted.

        Raises:
            RecordsRefused: one of the epochs is old, or Kafka fails.
        """
        entry = self._producers.get(batch.producer_id) or ProducerStateEntry(producer_id=batch.producer_id)
        marker = marker_of_batch(batch.data)
        if marker is None:
            return
        if transaction_version == UNKNOWN_TRANSACTION_VERSION:
            raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"no transaction version: {self._place(batch)}")
        epoch = batch.producer_epoch
        if (
            transaction_version >= EPOCH_BUMPING_TRANSACTIONS
            and self._behaviour.markers_of_version_2_have_newer_epochs
            and epoch == entry.producer_epoch
            and entry.transaction_start != NO_TRANSACTION
            and epoch != LAST_PRODUCER_EPOCH
        ):
            raise _old_epoch(self._place(batch), epoch, epoch)
        self._check_epoch(batch, entry.producer_epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            reason = (
                f"Invalid coordinator epoch for {self._place(batch)}: {marker.coordinator_epoch} (zombie), "
                f"{entry.coordinator_epoch} (current)"
            )
            raise RecordsRefused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, reason)

    def _check_epoch(self, batch: StoredBatch, last_epoch: int) -> None:
        if batch.producer_epoch < last_epoch:
            raise _old_epoch(self._place(batch), batch.producer_epoch, last_epoch)

    def update(self, batch: StoredBatch) -> AbortedTransaction | None:
        """Add an appended batch to the state of its producer; return the transaction that it aborts."""
        transactional = batch.attributes & TRANSACTIONAL_FLAG_MASK
        if transactional:
            if self.verifications.states:
                self.verifications.appended(batch)
            if batch.attributes & CONTROL_FLAG_MASK:
                return self._end_transaction(batch)
        entry = self._producers.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            entry = self._new_epoch(batch, entry)
        entry.last_timestamp = batch.max_timestamp
        entry.batches.append(
            BatchMetadata(
                batch.base_sequence,
                batch.last_sequence,
                batch.base_offset,
                batch.last_offset,
                batch.max_timestamp,
            )
        )
        if transactional and entry.transaction_start == NO_TRANSACTION:
            entry.transaction_start = batch.base_offset
            self.transactions.begin(batch.base_offset, batch.producer_id)
        return None

    def _new_epoch(self, batch: StoredBatch, entry: ProducerStateEntry | None) -> ProducerStateEntry:
        """Return the entry with the batch's epoch and without batches, a new one for an unknown producer."""
        if entry is None:
            entry = self._producers[batch.producer_id] = ProducerStateEntry(
                producer_id=batch.producer_id, batches=deque(maxlen=self._behaviour.producer_batches_kept)
            )
        entry.batches.clear()
        entry.producer_epoch = batch.producer_epoch
        return entry

    def _end_transaction(self, batch: StoredBatch) -> AbortedTransaction | None:
        """Mirrors ProducerAppendInfo.appendEndTxnMarker and ProducerStateManager.completeTxn."""
        marker = marker_of_batch(batch.data)
        if marker is None:
            return None  # compaction has emptied the batch: the whole transaction is gone
        entry = self._producers.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            entry = self._new_epoch(batch, entry)
        entry.last_timestamp = batch.max_timestamp
        entry.coordinator_epoch = marker.coordinator_epoch
        offset = batch.base_offset
        start, entry.transaction_start = entry.transaction_start, NO_TRANSACTION
        if entry.batches and self._behaviour.markers_replace_batches:
            last = entry.last_sequence
            entry.batches.append(BatchMetadata(last, last, offset, offset, batch.max_timestamp))
        if start == NO_TRANSACTION:
            if not self._behaviour.empty_transactions_complete:
                return None
            start = offset
            self.transactions.begin(start, batch.producer_id)
        stable = self.transactions.stable_offset_after(batch.producer_id, offset)
        self.transactions.complete(start, offset)
        return None if marker.is_commit else AbortedTransaction(batch.producer_id, start, offset, stable)

    def has_late_transaction(self, now_ms: int, late_ms: int) -> bool:
        """Return True if the oldest open transaction has had no record for longer than `late_ms`."""
        producer_id = self.transactions.oldest_producer_id
        entry = None if producer_id is None else self._producers.get(producer_id)
        return entry is not None and 0 < entry.last_timestamp < now_ms - late_ms

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
            if checked_ms - entry.last_timestamp >= self.expiration_ms and entry.transaction_start == NO_TRANSACTION
        ]
        for producer_id in idle:
            del self._producers[producer_id]
        if self.verifications.states:
            self.verifications.remove_started_before(checked_ms - self.expiration_ms)

    def restart(self, now_ms: int) -> None:
        """Go on in a new incarnation of the broker, which knows no verification of the previous one.

        It has what a snapshot at the end of the log has, which an orderly stop writes, and recovery after a crash: the
        newest batch of each producer. Of the idle producers it loads none. Mirrors
        ProducerStateManager.loadFromSnapshot.
        """
        self.verifications.states.clear()
        self._next_expiration_check_ms = now_ms + self._expiration_check_interval_ms
        self._producers = {
            producer_id: entry
            for producer_id, entry in self.snapshot().items()
            if entry.transaction_start != NO_TRANSACTION or now_ms - entry.last_timestamp < self.expiration_ms
        }

    def log_start_moved(self, log_start_offset: int) -> None:
        """Forget the producers without a record in the log, in releases before 2.4. Mirrors truncateHead."""
        if not self._behaviour.producers_go_with_their_records:
            return
        gone = {key for key, entry in self._producers.items() if entry.last_data_offset < log_start_offset}
        if gone:
            self._producers = {key: entry for key, entry in self._producers.items() if key not in gone}
            self.transactions.remove_of(gone)

    def snapshot(self) -> dict[int, ProducerStateEntry]:
        """Return the state as Kafka writes it to a file when a segment begins: the newest batch of each producer."""
        return {producer_id: entry.copy(batches=1) for producer_id, entry in self._producers.items()}

    def keep_snapshots(self, snapshots: Mapping[int, Mapping[int, ProducerStateEntry]]) -> None:
        """Replace the snapshots at offsets where no segment begins."""
        self._late_snapshots = dict(snapshots)

    def truncate_and_reload(
        self, segment: LogSegment, *, log_start_offset: int, log_end_offset: int, high_watermark: int
    ) -> None:
        """Rebuild the state at a new end of the log, from the newest snapshot up to there and the batches after it.

        `segment` is the last one. Mirrors UnifiedLog.rebuildProducerState with ProducerStateManager.truncateAndReload.
        A log that knew no producer before knows none of the replayed batches either.
        """
        was_empty = not self._producers and not self.transactions.unreplicated
        found: dict[int, Mapping[int, ProducerStateEntry]] = {log_start_offset: {}}
        if segment.base_offset > log_start_offset:
            found[segment.base_offset] = segment.producer_snapshot
        self._late_snapshots = {
            offset: snapshot
            for offset, snapshot in self._late_snapshots.items()
            if log_start_offset < offset <= log_end_offset
        }
        found |= self._late_snapshots
        newest = max(found)
        checked_ms = self._next_expiration_check_ms - self._expiration_check_interval_ms
        snapshot = {
            producer_id: entry
            for producer_id, entry in found[newest].items()
            if entry.transaction_start != NO_TRANSACTION or checked_ms - entry.last_timestamp < self.expiration_ms
        }
        # The batch that holds the log start offset is read from its beginning.
        replayed = () if was_empty else segment.batches[segment.index_of(newest) :]
        self.reload(snapshot, replayed)
        self.transactions.high_watermark_moved(high_watermark)
        if newest < log_end_offset:
            self._late_snapshots[log_end_offset] = self.snapshot()

    def reload(
        self, snapshot: Mapping[int, ProducerStateEntry], batches: Iterable[StoredBatch]
    ) -> list[AbortedTransaction]:
        """Rebuild the state from a snapshot and the batches after it; return the transactions that they abort."""
        self._producers = {producer_id: entry.copy() for producer_id, entry in snapshot.items()}
        self.transactions.restore(
            {
                entry.transaction_start: producer_id
                for producer_id, entry in snapshot.items()
                if entry.transaction_start != NO_TRANSACTION
            }
        )
        aborted = [self.update(batch) for batch in batches if batch.producer_id >= 0]
        return [transaction for transaction in aborted if transaction is not None]


def _old_epoch(place: str, epoch: int, last_epoch: int) -> RecordsRefused:
    reason = f"Epoch of {place} is {epoch}, which does not follow the last seen epoch {last_epoch}"
    return RecordsRefused(ErrorCode.INVALID_PRODUCER_EPOCH, reason)
