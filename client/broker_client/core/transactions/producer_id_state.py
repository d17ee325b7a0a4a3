"""Producer id, epoch and sequence numbers: what makes a retry harmless.

Mirrors Kafka's TransactionManager without a transactional.id; transaction_manager.py has the part for transactions.
KIP-98 (idempotence), KIP-360 (the epoch is bumped by the client itself when a sequence cannot be continued). The
Sender calls everything here.
"""

from __future__ import annotations

from typing import ClassVar, Final

from broker_client.core.batching.producer_batch import (
    NO_PRODUCER_ID_AND_EPOCH,
    ProducerBatch,
    ProducerIdAndEpoch,
)
from broker_client.core.transactions.transaction_states import TRANSACTION_STATES, TransactionEvent, TransactionState
from broker_client.core.transactions.txn_partition_entry import TxnPartitionEntry
from broker_client.errors import BrokerError, ProducerError, UnsupportedVersion, error_of
from broker_client.records import NO_OFFSET, TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol_specs.records.batch_peek import increment_sequence

__all__ = ["ProducerIdState"]

EPOCH_MAX: Final = 32767
# After these no producer with an id sends anything any more, in a transaction or not.
FATAL_FOR_EVERY_PRODUCER: Final = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)
# Kafka starts anew at 0 in the same epoch when attempts are used up after UNKNOWN_PRODUCER_ID. With more than one batch
# in flight it then gives a sequence twice, and the second batch is acknowledged as a duplicate, never written.
_SEQUENCE_LOST: Final = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
_TRANSACTION_TIMEOUT_OF_IDEMPOTENCE_MS: Final = 2**31 - 1
_UNKNOWN_LOG_START_OFFSET: Final = -1


class ProducerIdState:
    """One producer's identity. Only the Sender's thread comes here."""

    __slots__ = (
        "_epoch_bump_required",
        "_partitions",
        "_request_due",
        "_to_rewrite",
        "_unresolved",
        "last_error",
        "producer_id_and_epoch",
        "state",
    )

    is_transactional: ClassVar[bool] = False

    def __init__(self) -> None:
        self.state = TransactionState.UNINITIALIZED
        self.producer_id_and_epoch = NO_PRODUCER_ID_AND_EPOCH
        self.last_error: ProducerError | None = None
        self._partitions: dict[TopicPartition, TxnPartitionEntry] = {}
        self._unresolved: dict[TopicPartition, int] = {}
        self._to_rewrite: dict[TopicPartition, None] = {}
        self._epoch_bump_required = False
        self._request_due = False

    # Identity

    @property
    def is_completing(self) -> bool:
        """True if a transaction's end waits for everything to be sent."""
        return False

    @property
    def has_fatal_error(self) -> bool:
        """True if nothing can be sent any more."""
        return self.state is TransactionState.FATAL_ERROR

    @property
    def has_abortable_error(self) -> bool:
        """True if what is queued has to fail before anything is sent."""
        return self.state is TransactionState.ABORTABLE_ERROR

    @property
    def is_settled(self) -> bool:
        """True if batches may be sent and the producer's identity needs no step before."""
        return (
            self.state is TransactionState.READY
            and not self._unresolved
            and not self._epoch_bump_required
            and not self._request_due
        )

    def bump_epoch_and_reset_id_if_needed(self) -> None:
        """Begin a new epoch if a partition requires one; request an id without one."""
        if self._epoch_bump_required:
            self._bump_epoch()
        if self.state is TransactionState.UNINITIALIZED:
            self._advance(TransactionEvent.ID_REQUESTED)
            self._request_due = True

    def next_request(self) -> InitProducerIdRequest | None:
        """The request to send now, if there is one; `request_failed` puts it back."""
        if not self._request_due:
            return None
        self._request_due = False
        return InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=_TRANSACTION_TIMEOUT_OF_IDEMPOTENCE_MS
        )

    @property
    def has_request_due(self) -> bool:
        """True if `next_request` has one."""
        return self._request_due

    def request_failed(self) -> None:
        """The request did not reach its broker, or got a retriable error: send it again."""
        self._request_due = self.state is TransactionState.INITIALIZING

    def version_mismatch(self, error: UnsupportedVersion) -> None:
        """The brokers are too old for idempotence."""
        text = f"enable.idempotence needs brokers of 0.11 or later ({error}): set enable.idempotence=False"
        self._fatal(UnsupportedVersion(text))

    def handle_init_producer_id(self, response: InitProducerIdResponse) -> bool:
        """Apply the response; False if the request has to be sent again after the back-off."""
        if self.has_fatal_error:
            return True  # it came while the id was requested
        code = ErrorCode(response.error_code)
        if code is ErrorCode.NONE:
            self.producer_id_and_epoch = ProducerIdAndEpoch(
                producer_id=response.producer_id, epoch=response.producer_epoch
            )
            self._advance(TransactionEvent.ID_GIVEN)
            self.last_error = None
            return True
        if code.retriable:
            self.request_failed()
            return False
        if code in (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
            self._advance(TransactionEvent.AUTHORIZATION_REFUSED)
            self.last_error = error_of(code)
            return True
        self._fatal(BrokerError(code, "unexpected error in the response to InitProducerId"))
        return True

    def reset_after_authorization_error(self) -> None:
        """The queued batches have failed: the next record requests an id again."""
        self._advance(TransactionEvent.ID_RESET)
        self.last_error = None

    # Sequences

    def is_send_to_partition_allowed(self, key: TopicPartition) -> bool:  # noqa: ARG002
        """True if a batch for the partition may be drained; with transactions, whether it joined."""
        return not self.has_fatal_error

    def maybe_update_producer_id_and_epoch(self, key: TopicPartition) -> None:
        """Move a partition to the current id and epoch, from sequence 0, once nothing of the old one is in flight."""
        entry = self._entry(key)
        if entry.producer_id_and_epoch != self.producer_id_and_epoch and not entry.has_in_flight_batches:
            entry.start_sequences_at_beginning(self.producer_id_and_epoch)

    def assign_sequence(self, batch: ProducerBatch) -> None:
        """Give a batch that is drained its place behind all others of its partition."""
        key = batch.topic_partition
        self.maybe_update_producer_id_and_epoch(key)
        entry = self._entry(key)
        batch.set_producer_state(
            self.producer_id_and_epoch, entry.next_sequence, is_transactional=self.is_transactional
        )
        entry.increment_sequence(batch.record_count)
        entry.add_in_flight_batch(batch)

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        """A batch that has its sequence came out of a split."""
        self._entry(batch.topic_partition).add_in_flight_batch(batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        """It has ended."""
        self._entry(batch.topic_partition).remove_in_flight_batch(batch)

    def has_in_flight_batches(self, key: TopicPartition) -> bool:
        """True if a drained batch of the partition has not ended."""
        return self._entry(key).has_in_flight_batches

    def first_in_flight_sequence(self, key: TopicPartition) -> int:
        """The lowest sequence of the partition that has not ended, -1 when there is none."""
        return self._entry(key).first_in_flight_sequence

    def has_stale_producer_id_and_epoch(self, key: TopicPartition) -> bool:
        """True if the partition still counts under an earlier epoch."""
        return self._entry(key).producer_id_and_epoch != self.producer_id_and_epoch

    def has_unresolved_sequence(self, key: TopicPartition) -> bool:
        """True if a batch of the partition was given up that may have been written."""
        return key in self._unresolved

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        """A batch that had been sent expired: nothing new goes to its partition until the others have ended."""
        following = increment_sequence(batch.last_sequence, 1)
        key = batch.topic_partition
        self._unresolved[key] = max(self._unresolved.get(key, following), following)

    def maybe_resolve_sequences(self) -> None:
        """Where all batches have ended: go on if the last sequence was acknowledged, else bump the epoch."""
        for key in list(self._unresolved):
            entry = self._entry(key)
            if entry.has_in_flight_batches:
                continue
            if not self._is_next_sequence(key, entry.next_sequence):
                self._give_up_unresolved(key)
            self._unresolved.pop(key, None)

    # Responses to batches

    def handle_completed_batch(self, batch: ProducerBatch, base_offset: int) -> None:
        """A batch was acknowledged."""
        entry = self._entry(batch.topic_partition)
        entry.acked(batch.last_sequence)
        if base_offset != NO_OFFSET:
            entry.last_acked_offset = max(entry.last_acked_offset, base_offset + batch.record_count - 1)
        entry.remove_in_flight_batch(batch)

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, *, adjust_sequence_numbers: bool) -> None:
        """A batch failed for good; `adjust_sequence_numbers` when its sequence was surely not used."""
        if error.error_code in FATAL_FOR_EVERY_PRODUCER:
            self._fatal(error)
        self.remove_in_flight_batch(batch)
        if self.has_fatal_error:
            return
        if error.error_code in _SEQUENCE_LOST or adjust_sequence_numbers:
            self._request_epoch_bump_for(batch.topic_partition)

    def can_retry(self, batch: ProducerBatch, code: ErrorCode, log_start_offset: int) -> bool:
        """True if a batch goes again; a lost sequence is healed by a bump of the epoch."""
        key = batch.topic_partition
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            if log_start_offset != _UNKNOWN_LOG_START_OFFSET and not batch.sequence_has_been_reset:
                self._request_epoch_bump_for(key)
            return True
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            unresolved = key in self._unresolved
            if not unresolved and (
                batch.sequence_has_been_reset or not self._is_next_sequence(key, batch.base_sequence)
            ):
                return True  # not the next in line: an earlier batch is on its way still
            if not unresolved or self._unresolved[key] == batch.base_sequence:
                self._request_epoch_bump_for(key)
            return True
        return code.retriable

    # Details

    def _entry(self, key: TopicPartition) -> TxnPartitionEntry:
        entry = self._partitions.get(key)
        if entry is None:
            entry = self._partitions[key] = TxnPartitionEntry()
        return entry

    def _is_next_sequence(self, key: TopicPartition, sequence: int) -> bool:
        return sequence - self._entry(key).last_acked_sequence == 1

    def _give_up_unresolved(self, key: TopicPartition) -> None:
        self._request_epoch_bump_for(key)

    def _reset_sequence_for(self, key: TopicPartition) -> None:
        self._partitions.pop(key, None)
        self._unresolved.pop(key, None)

    def _reset_sequences(self) -> None:
        self._partitions.clear()
        self._unresolved.clear()

    def _request_epoch_bump_for(self, key: TopicPartition) -> None:
        self._epoch_bump_required = True
        self._to_rewrite[key] = None

    def _bump_epoch(self) -> None:
        producer = self.producer_id_and_epoch
        if producer.epoch == EPOCH_MAX:
            self.producer_id_and_epoch = NO_PRODUCER_ID_AND_EPOCH
            self._advance(TransactionEvent.ID_RESET)
        elif producer.is_valid:
            self.producer_id_and_epoch = ProducerIdAndEpoch(producer_id=producer.producer_id, epoch=producer.epoch + 1)
        for key in self._to_rewrite:
            self._entry(key).start_sequences_at_beginning(self.producer_id_and_epoch)
            self._unresolved.pop(key, None)
        self._to_rewrite.clear()
        self._epoch_bump_required = False

    def _fatal(self, error: ProducerError) -> None:
        self._advance(TransactionEvent.FATAL)
        self.last_error = error
        self._request_due = False

    def _advance(self, event: TransactionEvent) -> None:
        self.state = TRANSACTION_STATES.next(self.state, event)
