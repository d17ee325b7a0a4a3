"""A transactional producer's identity, state and queue of requests. Mirrors TransactionManager with a transactional.id.

KIP-98; KIP-360 (an epoch bump makes a transaction abortable that could only fail before); KIP-447 (offsets with a
consumer's place in its group); KIP-890 (transaction.version 2: partitions join by being written to, and EndTxn's
response has the next epoch). Calls come from any thread and are refused by IllegalState where the table has no such
transition; the Sender takes requests and brings their responses. As Kafka's methods are synchronized, each takes the
lock.
"""

from __future__ import annotations

import heapq
from threading import RLock
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.batching.producer_batch import NO_PRODUCER_ID_AND_EPOCH, ProducerBatch, ProducerIdAndEpoch
from broker_client.core.network.cluster import Node
from broker_client.core.transactions.producer_id_state import FATAL_FOR_EVERY_PRODUCER, ProducerIdState
from broker_client.core.transactions.transaction_content_handlers import (
    AddOffsetsToTxnHandler,
    AddPartitionsToTxnHandler,
    TxnOffsetCommitHandler,
)
from broker_client.core.transactions.transaction_handlers import (
    CoordinatorType,
    EndTxnHandler,
    FindCoordinatorHandler,
    InitProducerIdHandler,
    TxnRequestHandler,
)
from broker_client.core.transactions.transaction_states import TRANSACTION_STATES, TransactionEvent, TransactionState
from broker_client.core.transactions.transactional_request_result import TransactionalRequestResult
from broker_client.errors import IllegalState, ProducerError
from broker_client.transaction_errors import (
    InvalidProducerEpoch,
    ProducerFenced,
    TransactionAbortable,
    TransactionInError,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from sim_runtime.state_table import IllegalTransition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata
    from broker_client.core.network.api_versions import ApiVersions
    from broker_client.records import TopicPartition

__all__ = ["TransactionManager"]

TRANSACTION_VERSION_FEATURE: Final = "transaction.version"
TRANSACTION_V2: Final = 2
_FIRST_INIT_PRODUCER_ID_THAT_BUMPS: Final = 3
_UNACKNOWLEDGED: Final = "some records that were sent have no acknowledgement and cannot be retried any more"
_AUTHORIZATION: Final = (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_UNKNOWN_LOG_START_OFFSET: Final = -1
_E = TransactionEvent
_log = Logger()


class _PendingTransition:
    """A call that timed out before its end was reported: only the same call may be made again."""

    __slots__ = ("event", "operation", "result")

    def __init__(self, event: TransactionEvent, operation: str, result: TransactionalRequestResult) -> None:
        self.event = event
        self.operation = operation
        self.result = result


class TransactionManager(ProducerIdState):
    """`call_from_thread` runs a function on the reactor's thread."""

    __slots__ = (
        "_api_versions",
        "_call_from_thread",
        "_coordinators",
        "_finalized_features_epoch",
        "_new_partitions",
        "_numbered",
        "_pending_partitions",
        "_pending_transition",
        "_requests",
        "client_side_epoch_bump_required",
        "coordinator_supports_bumping_epoch",
        "is_transaction_v2_enabled",
        "lock",
        "partitions_in_transaction",
        "pending_offset_commits",
        "retry_backoff_ms",
        "transaction_started",
        "transaction_timeout_ms",
        "transactional_id",
    )

    is_transactional = True

    def __init__(
        self,
        *,
        transactional_id: str,
        transaction_timeout_ms: int,
        retry_backoff_ms: int,
        api_versions: ApiVersions,
        call_from_thread: Callable[[Callable[[], None]], object],
    ) -> None:
        super().__init__()
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.retry_backoff_ms = retry_backoff_ms
        self.lock = RLock()
        self.is_transaction_v2_enabled = False
        self.transaction_started = False
        self.coordinator_supports_bumping_epoch = False
        self.client_side_epoch_bump_required = False
        self.partitions_in_transaction: dict[TopicPartition, None] = {}
        self.pending_offset_commits: dict[TopicPartition, OffsetAndMetadata] = {}
        self._api_versions = api_versions
        self._call_from_thread = call_from_thread
        self._finalized_features_epoch = -1
        self._coordinators: dict[CoordinatorType, Node | None] = {}
        self._new_partitions: dict[TopicPartition, None] = {}
        self._pending_partitions: dict[TopicPartition, None] = {}
        self._requests: list[tuple[int, int, TxnRequestHandler]] = []
        self._numbered = 0
        self._pending_transition: _PendingTransition | None = None

    # The calls of the application

    def initialize_transactions(self) -> TransactionalRequestResult:
        """Fence the previous producer of the transactional id, and get a producer id."""

        def begin() -> TransactionalRequestResult:
            self._fail_if_in_error()
            self._advance_or_refuse(_E.ID_REQUESTED, "init_transactions")
            handler = self._init_producer_id()
            self.enqueue(handler)
            return handler.result

        return self._pending_or(begin, _E.ID_REQUESTED, "init_transactions")

    def begin_transaction(self) -> None:
        """Make every record from now on part of a transaction."""
        with self.lock:
            self._refuse_while_pending("begin_transaction")
            self._fail_if_in_error()
            self._advance_or_refuse(_E.BEGIN_REQUESTED, "begin_transaction")

    def begin_commit(self) -> TransactionalRequestResult:
        """Commit as soon as all batches have been acknowledged."""

        def begin() -> TransactionalRequestResult:
            self._fail_if_in_error()
            self._advance_or_refuse(_E.COMMIT_REQUESTED, "commit_transaction")
            return self._begin_completing(committed=True)

        return self._pending_or(begin, _E.COMMIT_REQUESTED, "commit_transaction")

    def begin_abort(self) -> TransactionalRequestResult:
        """Give up what was not sent, and abort as soon as the rest has ended."""

        def begin() -> TransactionalRequestResult:
            if not self.has_abortable_error:
                self._fail_if_in_error()
            self._advance_or_refuse(_E.ABORT_REQUESTED, "abort_transaction")
            self._new_partitions.clear()
            return self._begin_completing(committed=False)

        return self._pending_or(begin, _E.ABORT_REQUESTED, "abort_transaction")

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> TransactionalRequestResult:
        """Commit the offsets with the transaction."""
        with self.lock:
            self._refuse_while_pending("send_offsets_to_transaction")
            self._fail_if_in_error()
            self._refuse_outside_of_transaction("send_offsets_to_transaction")
            handler: TxnRequestHandler
            if self.is_transaction_v2_enabled:
                result = self.new_result("TxnOffsetCommit")
                handler = TxnOffsetCommitHandler(self, result, offsets, group)
                self.transaction_started = True
            else:
                handler = AddOffsetsToTxnHandler(self, offsets, group)
            self.enqueue(handler)
            return handler.result

    def check_send(self) -> None:
        """Raise unless a record may be sent now."""
        if self.state is not TransactionState.IN_TRANSACTION:
            with self.lock:
                self._fail_if_in_error()
                self._refuse_while_pending("send")
                self._refuse_outside_of_transaction("send")

    def maybe_add_partition(self, key: TopicPartition) -> bool:
        """Note that a record was appended; return True if its partition is new to the transaction."""
        if self.state is TransactionState.IN_TRANSACTION and key in self.partitions_in_transaction:
            return False
        with self.lock:
            self.check_send()
            if key in self.partitions_in_transaction or key in self._new_partitions or key in self._pending_partitions:
                return False
            self._entry(key)
            if self.is_transaction_v2_enabled:
                self.partitions_in_transaction[key] = None
                self.transaction_started = True
            else:
                self._new_partitions[key] = None
            return True

    def maybe_update_transaction_v2_enabled(self, *, on_initialization: bool) -> None:
        """Choose the protocol by the finalized features: between two transactions, never within one."""
        with self.lock:
            announced = self._api_versions
            if self._finalized_features_epoch >= announced.max_finalized_features_epoch:
                return
            self._finalized_features_epoch = announced.max_finalized_features_epoch
            before = self.is_transaction_v2_enabled
            self.is_transaction_v2_enabled = (
                announced.finalized_features.get(TRANSACTION_VERSION_FEATURE, 0) >= TRANSACTION_V2
            )
            if not on_initialization and not before and self.is_transaction_v2_enabled:
                self.client_side_epoch_bump_required = True

    # For the Sender and the accumulator

    @property
    def is_completing(self) -> bool:
        """True if everything has to be sent without lingering: the transaction waits for it."""
        return self.state in (TransactionState.COMMITTING_TRANSACTION, TransactionState.ABORTING_TRANSACTION)

    @property
    def is_aborting(self) -> bool:
        """True if what was not drained yet has to fail."""
        return self.state is TransactionState.ABORTING_TRANSACTION

    @property
    def has_ongoing_transaction(self) -> bool:
        """True if there is something to commit or abort."""
        return self.state is TransactionState.IN_TRANSACTION or self.is_completing or self.has_abortable_error

    @property
    def has_partitions(self) -> bool:
        """True if a partition has joined the transaction."""
        return bool(self.partitions_in_transaction)

    @property
    def has_authorization_error(self) -> bool:
        """True if the transactional id, or the producer, was refused: the id may be requested again."""
        return self.has_abortable_error and self.last_error is not None and self.last_error.error_code in _AUTHORIZATION

    @property
    def is_settled(self) -> bool:
        """Never: there is a transaction to see to."""
        return False

    @property
    def has_request_due(self) -> bool:
        """True if `take_request` may have one."""
        return bool(self._requests or self._new_partitions)

    def is_send_to_partition_allowed(self, key: TopicPartition) -> bool:
        """Nothing is written to a partition that has not joined."""
        return not self.has_fatal_error and key in self.partitions_in_transaction

    def bump_epoch_and_reset_id_if_needed(self) -> None:
        """A transactional producer's epoch is bumped by its coordinator, between transactions."""

    def next_request(self) -> InitProducerIdRequest | None:
        """Its requests are those of `take_request`."""
        return None

    def take_request(self, *, has_incomplete_batches: bool) -> TxnRequestHandler | None:
        """The next request to send; EndTxn only when all batches have ended."""
        with self.lock:
            if self._new_partitions:
                self.enqueue(self._add_partitions())
            while self._requests:
                handler = self._requests[0][2]
                if handler.is_end_txn and has_incomplete_batches:
                    return None
                heapq.heappop(self._requests)
                if self._ends_by_error(handler):
                    continue
                if handler.is_end_txn and not self.transaction_started:
                    # Nothing has joined: there is no transaction that the coordinator knows of.
                    self.complete_transaction(handler.result)
                    continue
                return handler
            return None

    def coordinator(self, kind: CoordinatorType) -> Node | None:
        """The coordinator, None while it is not known."""
        return self._coordinators.get(kind)

    def coordinator_ready(self) -> None:
        """The transaction coordinator is connected: whether it can bump an epoch is known."""
        node = self._coordinators.get(CoordinatorType.TRANSACTION)
        known = None if node is None else self._api_versions.get(node.id)
        announced = None if known is None else known.ranges.get(InitProducerIdRequest.API_KEY)
        self.coordinator_supports_bumping_epoch = (
            announced is not None and announced.highest >= _FIRST_INIT_PRODUCER_ID_THAT_BUMPS
        )

    def fail_pending_requests(self, error: ProducerError) -> None:
        """Give every request up that was not sent."""
        with self.lock:
            requests, self._requests = sorted(self._requests, key=lambda entry: entry[:2]), []
            for _, _, handler in requests:
                handler.fail(error)

    def close(self, error: ProducerError) -> None:
        """Fail every wait: the producer is closed by force."""
        with self.lock:
            self.fail_pending_requests(error)
            if self._pending_transition is not None:
                self._pending_transition.result.fail(error)

    def reset_after_authorization_error(self) -> None:
        """`init_transactions` may be called again."""
        with self.lock:
            error = self.last_error
            super().reset_after_authorization_error()
            if self._pending_transition is not None and error is not None:
                self._pending_transition.result.fail(error)

    # What the handlers report

    def new_result(self, operation: str) -> TransactionalRequestResult:
        """Complete a request's result."""
        return TransactionalRequestResult(operation, self._call_from_thread)

    def enqueue(self, handler: TxnRequestHandler) -> None:
        """Queue a request by its priority, behind the others of the same."""
        self._numbered += 1
        heapq.heappush(self._requests, (handler.priority, self._numbered, handler))

    def look_up_coordinator(self, kind: CoordinatorType, key: str, *, after_backoff: bool = False) -> None:
        """Forget a coordinator and look it up again."""
        self._coordinators[kind] = None
        handler = FindCoordinatorHandler(self, kind, key)
        handler.is_retry = after_backoff
        self.enqueue(handler)

    def coordinator_found(self, kind: CoordinatorType, node_id: int, host: str, port: int) -> None:
        """Apply the response to FindCoordinator."""
        self._coordinators[kind] = Node(node_id, host, port)

    def id_given(self, producer: ProducerIdAndEpoch, *, reset_sequences: bool) -> None:
        """Apply the response to InitProducerId."""
        self.producer_id_and_epoch = producer
        self._advance(_E.ID_GIVEN)
        self.last_error = None
        if reset_sequences:
            self._reset_sequences()

    def epoch_bumped(self, producer: ProducerIdAndEpoch) -> None:
        """Apply the next epoch of an EndTxn response (KIP-890)."""
        self.producer_id_and_epoch = producer
        self._reset_sequences()

    def partitions_no_longer_pending(self, keys: Iterable[TopicPartition]) -> None:
        """Stop waiting for partitions, also after an error: the transaction goes on with those that have joined."""
        for key in keys:
            self._pending_partitions.pop(key, None)

    def partitions_added(self, keys: Iterable[TopicPartition]) -> None:
        """They may be written to."""
        for key in keys:
            self.partitions_in_transaction[key] = None
        self.transaction_started = True

    def complete_transaction(self, result: TransactionalRequestResult) -> None:
        """It was committed or aborted; `result` is done when the next may begin.

        A new epoch may come first; that one is needed may have been found only while the transaction ended.
        """
        bump = self.client_side_epoch_bump_required
        self._advance(_E.COMPLETED_BEFORE_EPOCH_BUMP if bump else _E.COMPLETED)
        self.last_error = None
        self.client_side_epoch_bump_required = False
        self.transaction_started = False
        self._new_partitions.clear()
        self._pending_partitions.clear()
        self.partitions_in_transaction.clear()
        if bump:
            self.enqueue(InitProducerIdHandler(self, self.producer_id_and_epoch, result))
        else:
            result.done()

    def transition_to_abortable_error(self, error: ProducerError) -> None:
        """The transaction can only be aborted; one that is being aborted goes on."""
        if self.is_aborting:
            _log.debug("the transaction is being aborted already: {error}", error=error)
            return
        self._advance(_E.ABORTABLE)
        self.last_error = error
        _log.info("{id}: the transaction has to be aborted: {error}", id=self.transactional_id, error=error)

    def transition_to_abortable_or_fatal_error(self, abortable: ProducerError, fatal: ProducerError) -> None:
        """Abortable when a new epoch can be had."""
        if not (self.coordinator_supports_bumping_epoch or self.is_transaction_v2_enabled):
            self.transition_to_fatal_error(fatal)
            return
        self._bump_epoch_from_client_if_needed()
        self.transition_to_abortable_error(abortable)

    def transition_to_fatal_error(self, error: ProducerError) -> None:
        """Fail every wait: nothing will be sent any more."""
        self._fatal(error)
        _log.info("{id}: the producer is in error for good: {error}", id=self.transactional_id, error=error)
        self.close(error)

    def maybe_transition_to_error_state(self, error: ProducerError) -> None:
        """A send failed."""
        with self.lock:
            if error.error_code in FATAL_FOR_EVERY_PRODUCER:
                self.transition_to_fatal_error(error)
                return
            if error.error_code.retriable or error.error_code is ErrorCode.INVALID_TXN_STATE:
                # Its retries are used up: an application that saw it as retriable would write twice.
                cause, error = error, TransactionAbortable(f"a request was given up: {error}")
                error.__cause__ = cause
            if TRANSACTION_STATES.allows(self.state, _E.ABORTABLE):
                if not self.is_completing:
                    self._bump_epoch_from_client_if_needed()
                self.transition_to_abortable_error(error)

    # Responses to batches

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, *, adjust_sequence_numbers: bool) -> None:
        """A record that failed fails its transaction."""
        with self.lock:
            self.maybe_transition_to_error_state(error)
            self.remove_in_flight_batch(batch)
            if self.has_fatal_error:
                return
            key = batch.topic_partition
            if error.error_code is ErrorCode.UNKNOWN_PRODUCER_ID:
                self._reset_sequence_for(key)
            elif adjust_sequence_numbers:
                self._entry(key).adjust_sequences_due_to_failed_batch(batch)

    def can_retry(self, batch: ProducerBatch, code: ErrorCode, log_start_offset: int) -> bool:
        """True if a batch goes again; a gap in the sequences fails the transaction."""
        key = batch.topic_partition
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            if log_start_offset == _UNKNOWN_LOG_START_OFFSET or batch.sequence_has_been_reset:
                return True
            entry = self._entry(key)
            if entry.last_acked_offset < log_start_offset:
                # Retention took what the broker knew of the producer: it takes a beginning.
                entry.start_sequences_at_beginning(self.producer_id_and_epoch)
                return True
        elif code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and (
            not self.has_unresolved_sequence(key)
            and (batch.sequence_has_been_reset or not self._is_next_sequence(key, batch.base_sequence))
        ):
            return True
        return code.retriable

    def _give_up_unresolved(self, key: TopicPartition) -> None:  # noqa: ARG002
        abortable = ProducerError(f"{_UNACKNOWLEDGED}; the transaction can be aborted and another begun")
        fatal = ProducerError(f"{_UNACKNOWLEDGED}; it is not safe to continue")
        with self.lock:
            self.transition_to_abortable_or_fatal_error(abortable, fatal)

    # Details

    def _begin_completing(self, *, committed: bool) -> TransactionalRequestResult:
        if self._new_partitions:
            self.enqueue(self._add_partitions())
        # Made before the protocol may change: a transaction ends as it began.
        handler = self._end_txn(committed=committed)
        self.maybe_update_transaction_v2_enabled(on_initialization=False)
        self.enqueue(handler)
        return handler.result

    def _init_producer_id(self) -> InitProducerIdHandler:
        return InitProducerIdHandler(self, NO_PRODUCER_ID_AND_EPOCH)

    def _end_txn(self, *, committed: bool) -> EndTxnHandler:
        return EndTxnHandler(self, committed=committed)

    def _add_partitions(self) -> AddPartitionsToTxnHandler:
        self._pending_partitions.update(self._new_partitions)
        self._new_partitions.clear()
        return AddPartitionsToTxnHandler(self, self._pending_partitions)

    def _ends_by_error(self, handler: TxnRequestHandler) -> bool:
        if not (self.has_fatal_error or self.has_abortable_error):
            return False
        if self.has_abortable_error and isinstance(handler, FindCoordinatorHandler):
            return False  # the coordinator is looked up again for the abort
        assert self.last_error is not None
        handler.fail(self.last_error)
        return True

    def _bump_epoch_from_client_if_needed(self) -> None:
        if self.coordinator_supports_bumping_epoch and not self.is_transaction_v2_enabled:
            self.client_side_epoch_bump_required = True

    def _pending_or(
        self, begin: Callable[[], TransactionalRequestResult], event: TransactionEvent, operation: str
    ) -> TransactionalRequestResult:
        with self.lock:
            pending = self._pending_transition
            if pending is not None and not pending.result.is_acked and pending.event is event:
                return pending.result
            self._refuse_while_pending(operation)
            result = begin()
            self._pending_transition = _PendingTransition(event, operation, result)
            return result

    def _refuse_while_pending(self, operation: str) -> None:
        pending = self._pending_transition
        if pending is None:
            return
        if not pending.result.is_acked:
            raise IllegalState(
                f"cannot {operation}: the call to {pending.operation} before has timed out and may be unfinished; "
                "call it again"
            )
        self._pending_transition = None

    def _refuse_outside_of_transaction(self, operation: str) -> None:
        if self.state is not TransactionState.IN_TRANSACTION:
            first = "begin_transaction" if self.producer_id_and_epoch.is_valid else "init_transactions"
            raise IllegalState(
                f"cannot {operation}: no transaction is in progress ({self.state.name}); call {first} first"
            )

    def _advance_or_refuse(self, event: TransactionEvent, operation: str) -> None:
        if not TRANSACTION_STATES.allows(self.state, event):
            raise IllegalState(f"cannot {operation} in state {self.state.name} of transactional.id {self._name}")
        self._advance(event)
        self.last_error = None

    @property
    def _name(self) -> str:
        return repr(self.transactional_id)

    def _fail_if_in_error(self) -> None:
        error = self.last_error
        if error is None or not (self.has_fatal_error or self.has_abortable_error):
            return
        producer = self.producer_id_and_epoch
        who = f"the producer with transactional.id {self._name}, id {producer.producer_id}, epoch {producer.epoch}"
        if error.error_code is ErrorCode.PRODUCER_FENCED:
            raise ProducerFenced(f"{who}, was fenced by a newer one with the same transactional.id")
        if error.error_code is ErrorCode.INVALID_PRODUCER_EPOCH:
            raise InvalidProducerEpoch(f"{who}, wrote with an old epoch")
        raise TransactionInError(error, fatal=self.has_fatal_error) from error

    def _advance(self, event: TransactionEvent) -> None:
        try:
            super()._advance(event)
        except IllegalTransition as error:
            # It is unknown what was written: as in Kafka the manager goes to FATAL_ERROR.
            self.state = TransactionState.FATAL_ERROR
            self.last_error = IllegalState(str(error))
            self.close(self.last_error)
            raise self.last_error from error
