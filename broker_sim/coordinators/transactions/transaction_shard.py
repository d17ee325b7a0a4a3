"""The transactional ids of one partition of `__transaction_state`. Mirrors TransactionCoordinator and the part of
TransactionStateManager that holds the ids of a partition.

An operation checks the request, marks the change as pending, and writes one record. When the record is committed the
change is applied; a failed write only clears the mark. The response to the end of a transaction is sent when its record
is committed; then the markers go to the leaders of its partitions, and a last record completes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from broker_sim.control.events import TransactionStateChanged
from broker_sim.control.transaction_events import BEGUN, CONTINUED, ENDED, EXPIRED, FENCED, TIMED_OUT
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.coordinators.transactions.producers import NO_EPOCH, NO_PRODUCER_ID, ProducerResult
from broker_sim.coordinators.transactions.transaction_errors import log_error
from broker_sim.coordinators.transactions.transaction_metadata import (
    LARGEST_EPOCH,
    TRANSACTIONS_V2,
    TransactionMetadata,
    is_exhausted,
)
from broker_sim.coordinators.transactions.transaction_state import COMPLETE, PENDING_ONLY, PREPARE, TransactionState
from broker_sim.errors import BrokerSimError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import concurrent_hash_order, string_hash
from protocol_specs.records.batch_peek import NO_SEQUENCE
from protocol_specs.schemas.coordinator.transaction_log import TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
    from broker_sim.coordinators.transactions.transaction_metadata import TransactionTarget
    from broker_sim.topic_partition import TopicPartition

__all__ = ["MarkerSender", "TransactionShard"]

T = TypeVar("T")

# Constants, because looking up a member of an enum is slow.
_NONE: Final = ErrorCode.NONE
_COORDINATOR_NOT_AVAILABLE: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE
_ONGOING: Final = TransactionState.ONGOING
_COMMITTED: Final = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
_ABORTED: Final = (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
_EXPIRES: Final = (TransactionState.EMPTY, *COMPLETE)


class MarkerSender(Protocol):
    """Writes the markers of prepared transactions."""

    def send_markers(self, shard: TransactionShard, metadata: TransactionMetadata) -> None:
        """Send a marker to each partition of a prepared transaction, and complete it when all are written."""


class TransactionShard:
    """`transactions` has the state of each id, in the order in which they became known; `listed` has Kafka's order."""

    def __init__(
        self,
        context: ShardContext,
        markers: MarkerSender,
        *,
        record_version: Callable[[], int],
    ) -> None:
        self.transactions: dict[str, TransactionMetadata] = {}
        self.context = context
        self._markers = markers
        self._record_version = record_version
        self._behaviour = context.config.behaviour

    @property
    def coordinator_epoch(self) -> int:
        """The leader epoch of the partition, which markers have."""
        return self.context.leader_epoch

    @property
    def listed(self) -> list[TransactionMetadata]:
        """The state of each id in the order of the map that Kafka keeps for a partition."""
        return [self.transactions[each] for each in concurrent_hash_order(self.transactions, string_hash)]

    # Replay.

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Take the last record of each id."""
        del offset, producer_id, producer_epoch
        assert isinstance(record.key, TransactionLogKey)
        transactional_id = record.key.transactional_id
        if record.value is None:
            self.transactions.pop(transactional_id, None)
        else:
            assert isinstance(record.value, TransactionLogValue)
            self.transactions[transactional_id] = TransactionMetadata.of_record(transactional_id, record.value)

    def base_sequence(self, record: CoordinatorRecord) -> int:  # noqa: ARG002
        """Batches of this coordinator have no sequence."""
        return NO_SEQUENCE

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """The topic has no transactions of its own."""

    def loaded(self) -> None:
        """Continue with the markers of every prepared transaction."""
        for metadata in list(self.transactions.values()):
            if metadata.state in PREPARE:
                self._markers.send_markers(self, metadata)

    def unloaded(self) -> None:
        """No requests are parked."""

    def written(self) -> None:
        """Do nothing: changes are journaled when they are applied."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """The sender of the markers follows the leaders."""

    # Operations.

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        *,
        client_id: str,
        next_id: Callable[[], int],
        server_version: int,
    ) -> CoordinatorResult[ProducerResult]:
        """Fence former producers of the id, and give the next epoch. Mirrors handleInitProducerId.

        An open transaction is aborted first: the result is CONCURRENT_TRANSACTIONS, and the producer repeats the
        request. `expected` is the id and epoch that the producer has already (KIP-360).

        Raises:
            CoordinatorError: another change is pending, or `expected` is fenced, or `next_id` has no producer id.
        """
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            metadata = self.transactions[transactional_id] = TransactionMetadata(
                transactional_id=transactional_id,
                producer_id=next_id(),
                timeout_ms=timeout_ms,
                last_update_ms=self.context.now_ms(),
            )
        _refuse_if_pending(metadata)
        if expected is not None and not (
            metadata.producer_epoch == NO_EPOCH
            or expected.producer_id == metadata.producer_id
            or (expected.producer_id == metadata.previous_producer_id and is_exhausted(expected.producer_epoch))
        ):
            raise CoordinatorError(ErrorCode.PRODUCER_FENCED)
        if metadata.state in PREPARE:
            raise CoordinatorError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if metadata.state is _ONGOING:
            reason = FENCED if expected is None else CONTINUED
            fenced = self.abort_fenced(
                metadata, server_version=server_version, next_id=next_id, reason=reason, client_id=client_id
            )
            return fenced._replace(response=ProducerResult(ErrorCode.CONCURRENT_TRANSACTIONS))
        now_ms = self.context.now_ms()
        epoch = None if expected is None else expected.producer_epoch
        if is_exhausted(metadata.producer_epoch) and epoch in (None, metadata.producer_epoch):
            target = metadata.prepare_rotation(next_id(), timeout_ms, now_ms, keeps_last_epoch=epoch is not None)
        else:
            target = metadata.prepare_increment(timeout_ms, epoch, now_ms)
        return self._write(
            metadata,
            target,
            ProducerResult(_NONE, target.producer_id, target.producer_epoch),
            reason=BEGUN if expected is None else CONTINUED,
            client_id=client_id,
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        client_version: int,
    ) -> CoordinatorResult[None]:
        """Add partitions to the transaction, which the first ones start. Mirrors handleAddPartitionsToTransaction.

        Raises:
            CoordinatorError: the producer is unknown or fenced, or a change is pending.
        """
        metadata = self._known(transactional_id)
        if not self._behaviour.pending_transaction_counts_last:
            _refuse_if_pending(metadata)
        self._check_producer(metadata, producer)
        _refuse_if_pending(metadata)
        if metadata.state in PREPARE:
            raise CoordinatorError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if metadata.state is _ONGOING and all(each in metadata.partitions for each in partitions):
            return CoordinatorResult((), None)
        return self._write(metadata, metadata.prepare_add(partitions, self.context.now_ms(), client_version), None)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> list[bool]:
        """Return for each partition whether it is in the transaction. Mirrors handleVerifyPartitionsInTransaction.

        Raises:
            CoordinatorError: the producer is unknown or fenced, or the transaction is about to end.
        """
        metadata = self._known(transactional_id)
        self._check_producer(metadata, producer)
        if metadata.state in PREPARE:
            raise CoordinatorError(ErrorCode.CONCURRENT_TRANSACTIONS)
        return [partition in metadata.partitions for partition in partitions]

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        client_version: int,
        next_id: Callable[[], int],
    ) -> CoordinatorResult[ProducerResult]:
        """Commit or abort. With transactions v2 the result has the producer of the next transaction.

        Mirrors endTransaction, with endTransactionWithTV1 for older clients.

        Raises:
            CoordinatorError: the producer is unknown or fenced, a change is pending, or there is nothing to end.
        """
        metadata = self._known(transactional_id)
        state = metadata.state
        prepared, completed = _COMMITTED if commit else _ABORTED
        if client_version < TRANSACTIONS_V2:
            self._check_producer(metadata, producer)
            _refuse_if_pending(metadata)
            is_retry = True
        else:
            _refuse_if_pending(metadata)
            is_retry = self._check_end_of_v2(metadata, producer)
        if state in PENDING_ONLY:
            raise BrokerSimError(f"transactional id {transactional_id} cannot end: {metadata}")
        if state in PREPARE:
            raise CoordinatorError(
                ErrorCode.CONCURRENT_TRANSACTIONS if state is prepared else ErrorCode.INVALID_TXN_STATE
            )
        if state in COMPLETE and is_retry:
            if state is completed:
                return CoordinatorResult((), _producer_of(metadata))
            raise CoordinatorError(ErrorCode.INVALID_TXN_STATE)
        is_open = state is _ONGOING
        if not is_open and (commit or client_version < TRANSACTIONS_V2):
            raise CoordinatorError(ErrorCode.INVALID_TXN_STATE)
        target = self._prepare_end(metadata, prepared, client_version, next_id, starts_now=not is_open)
        if target.next_producer_id != NO_PRODUCER_ID:
            response = ProducerResult(_NONE, target.next_producer_id, 0)
        else:
            response = ProducerResult(_NONE, target.producer_id, target.producer_epoch)
        return self._write(metadata, target, response, reason=ENDED)

    def _prepare_end(
        self,
        metadata: TransactionMetadata,
        state: TransactionState,
        version: int,
        next_id: Callable[[], int],
        *,
        starts_now: bool = False,
    ) -> TransactionTarget:
        """Decide the end; with transactions v2 a producer whose epochs are exhausted gets another id."""
        rotates = version >= TRANSACTIONS_V2 and is_exhausted(metadata.producer_epoch)
        return metadata.prepare_end(
            state,
            self.context.now_ms(),
            client_version=version,
            next_producer_id=next_id() if rotates else NO_PRODUCER_ID,
            starts_now=starts_now,
            fences_largest=self._behaviour.largest_epochs_are_fenced,
        )

    def abort_fenced(
        self,
        metadata: TransactionMetadata,
        *,
        server_version: int,
        next_id: Callable[[], int],
        reason: str,
        client_id: str = "",
    ) -> CoordinatorResult[ProducerResult]:
        """Abort the open transaction with an epoch that its producer does not have.

        Below transactions v2 the record has version 0 at each level of the feature.
        """
        version = server_version if server_version >= TRANSACTIONS_V2 else 0
        fenced_epoch = metadata.prepare_fence(fences_largest=self._behaviour.largest_epochs_are_fenced)
        if version < TRANSACTIONS_V2:
            metadata.begin_fenced_end(fenced_epoch)
        else:
            metadata.pending_state = None  # the end itself increments the epoch
        target = self._prepare_end(metadata, TransactionState.PREPARE_ABORT, version, next_id)
        return self._write(metadata, target, _producer_of(metadata), reason=reason, client_id=client_id, is_fence=True)

    def complete_end(self, metadata: TransactionMetadata, target: TransactionTarget) -> CoordinatorResult[None]:
        """Write that all markers are written; the caller has prepared the change."""
        return self._write(metadata, target, None, keeps_pending=_COORDINATOR_NOT_AVAILABLE)

    def timed_out(self) -> list[TransactionMetadata]:
        """Return the open transactions whose time is up. Mirrors timedOutTransactions."""
        now_ms = self.context.now_ms()
        return [
            metadata
            for metadata in self.listed
            if metadata.state is _ONGOING
            and metadata.pending_state is None
            and metadata.start_ms + metadata.timeout_ms < now_ms
        ]

    def abort_timed_out(
        self, metadata: TransactionMetadata, *, server_version: int, next_id: Callable[[], int]
    ) -> CoordinatorResult[ProducerResult]:
        """Abort a transaction whose time is up. Mirrors abortTimedOutTransactions."""
        return self.abort_fenced(metadata, server_version=server_version, next_id=next_id, reason=TIMED_OUT)

    def remove_expired(self, expiration_ms: int) -> CoordinatorResult[None]:
        """Remove ids whose last change is too long ago. Mirrors removeExpiredTransactionalIds."""
        until_ms = self.context.now_ms() - expiration_ms
        expired = [
            metadata
            for metadata in self.listed
            if metadata.pending_state is None and metadata.state in _EXPIRES and metadata.last_update_ms <= until_ms
        ]
        for metadata in expired:
            metadata.prepare_dead()

        def committed(error: CoordinatorError | None) -> None:
            for metadata in expired:
                metadata.pending_state = None
                if error is None:
                    del self.transactions[metadata.transactional_id]
                    self._journal(metadata, TransactionState.DEAD, EXPIRED)

        tombstones = [
            CoordinatorRecord(TransactionLogKey(transactional_id=metadata.transactional_id), None)
            for metadata in expired
        ]
        return CoordinatorResult(tombstones, None, on_committed=committed, replay=False, atomic=False)

    # Parts of operations.

    def _known(self, transactional_id: str) -> TransactionMetadata:
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            raise CoordinatorError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return metadata

    @staticmethod
    def _check_producer(metadata: TransactionMetadata, producer: ProducerIdAndEpoch) -> None:
        if producer.producer_id != metadata.producer_id:
            raise CoordinatorError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if producer.producer_epoch != metadata.producer_epoch:
            raise CoordinatorError(ErrorCode.PRODUCER_FENCED)

    @staticmethod
    def _check_end_of_v2(metadata: TransactionMetadata, producer: ProducerIdAndEpoch) -> bool:
        """Return True for a repeated request, whose epoch is the one before the present. Raises CoordinatorError."""
        state, epoch = metadata.state, metadata.producer_epoch
        incremented = epoch == producer.producer_epoch + 1
        rotated = epoch == 0 and producer == (metadata.previous_producer_id, LARGEST_EPOCH - 1)
        if producer.producer_id != metadata.producer_id and not rotated:
            raise CoordinatorError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if state in PREPARE:
            valid = incremented
        else:
            valid = epoch == producer.producer_epoch or (state in COMPLETE and (incremented or rotated))
        if not valid:
            raise CoordinatorError(ErrorCode.PRODUCER_FENCED)
        return incremented or rotated

    def _write(
        self,
        metadata: TransactionMetadata,
        target: TransactionTarget,
        response: T,
        *,
        reason: str = "",
        client_id: str = "",
        is_fence: bool = False,
        keeps_pending: ErrorCode | None = None,
    ) -> CoordinatorResult[T]:
        """Write a target; apply it when it is committed. With the error `keeps_pending` the caller writes it again."""

        def committed(error: CoordinatorError | None) -> None:
            if error is None:
                previous = metadata.state
                metadata.complete(target, keeps_start=not self._behaviour.transactions_are_in_java_sets)
                self._journal(metadata, previous, reason, client_id)
                if metadata.state in PREPARE:
                    self._markers.send_markers(self, metadata)
            elif keeps_pending is None or log_error(error.error_code) is not keeps_pending:
                metadata.pending_state = None
                metadata.has_failed_epoch_fence |= is_fence

        record_version = self._record_version()
        if record_version == 0 and target.client_version > 0:
            # Such a record has no place for the version: Kafka fails between preparing the change and appending it, and
            # the change stays pending until the partition is loaded again.
            raise CoordinatorError(ErrorCode.UNSUPPORTED_VERSION)
        return CoordinatorResult(
            [
                target.record(
                    metadata.transactional_id,
                    record_version,
                    java_sets=self._behaviour.transactions_are_in_java_sets,
                )
            ],
            response,
            on_committed=committed,
            replay=False,
            timeout_ms=target.timeout_ms,
        )

    def _journal(
        self, metadata: TransactionMetadata, previous: TransactionState, reason: str, client_id: str = ""
    ) -> None:
        journal = self.context.host.journal
        if not journal.full:
            return
        journal.append(
            TransactionStateChanged(
                time_us=journal.now_us(),
                broker_id=self.context.host.id,
                transactional_id=metadata.transactional_id,
                producer_id=metadata.producer_id,
                producer_epoch=metadata.producer_epoch,
                state=metadata.state.label,
                previous=previous.label,
                partitions=", ".join(map(str, metadata.partitions)),
                reason=reason,
                client_id=client_id,
            )
        )


def _refuse_if_pending(metadata: TransactionMetadata) -> None:
    if metadata.pending_state is not None:
        raise CoordinatorError(ErrorCode.CONCURRENT_TRANSACTIONS)


def _producer_of(metadata: TransactionMetadata) -> ProducerResult:
    return ProducerResult(_NONE, metadata.producer_id, metadata.producer_epoch)
