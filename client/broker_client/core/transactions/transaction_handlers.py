"""The requests of a transactional producer, each with the handling of its response. Mirrors TxnRequestHandler's kinds.

Which error leads to what stands in `transaction_outcomes`; here is what each outcome does. FindCoordinator v0-v6,
InitProducerId v0-v5, AddPartitionsToTxn v0-v3 (from v4 on it is between brokers), AddOffsetsToTxn v0-v4, EndTxn v0-v5
and TxnOffsetCommit v0-v5, whose v5 are KIP-890's: only where transaction.version 2 is finalized.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Final

from broker_client.core.batching.producer_batch import NO_PRODUCER_ID_AND_EPOCH, ProducerIdAndEpoch
from broker_client.core.network.in_flight_requests import ClientResponse, Delivery
from broker_client.core.transactions.transaction_outcomes import Outcome, outcome_of
from broker_client.errors import IllegalState, ProducerError, UnsupportedVersion
from broker_client.transaction_errors import ProducerFenced, transaction_error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.end_txn import EndTxnRequest, EndTxnResponse
from protocol_specs.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from protocol_specs.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from broker_client.core.transactions.transaction_manager import TransactionManager
    from broker_client.core.transactions.transactional_request_result import TransactionalRequestResult
    from protocol_specs.message import Message

__all__ = [
    "CoordinatorType",
    "EndTxnHandler",
    "FindCoordinatorHandler",
    "InitProducerIdHandler",
    "Priority",
    "TxnRequestHandler",
]

LAST_VERSION_BEFORE_TRANSACTION_V2: Final = 4
_FIRST_BATCHED_FIND_COORDINATOR: Final = 4
_HIGHEST_INIT_PRODUCER_ID: Final = 5


class CoordinatorType(IntEnum):
    """The key type of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1


class Priority(IntEnum):
    """Which request goes first; an epoch bump is what a transaction ends with."""

    FIND_COORDINATOR = 0
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


class TxnRequestHandler(ABC):
    """One request until it has ended; it comes back to the queue as often as it must be repeated."""

    REQUEST: ClassVar[type[Message]]
    priority = Priority.ADD_PARTITIONS_OR_OFFSETS
    is_end_txn = False
    highest_version: int | None = None

    def __init__(self, manager: TransactionManager, result: TransactionalRequestResult) -> None:
        self.manager = manager
        self.result = result
        self.is_retry = False

    @property
    def coordinator(self) -> tuple[CoordinatorType, str] | None:
        """The coordinator of the request; None for any broker."""
        return CoordinatorType.TRANSACTION, self.manager.transactional_id

    @property
    def retry_backoff_ms(self) -> int:
        """How long a repeated request waits before it is sent."""
        return self.manager.retry_backoff_ms

    @abstractmethod
    def request(self, version: int) -> Message:
        """The message in the version that is sent."""

    @abstractmethod
    def handle(self, response: Message) -> None:
        """Apply the response."""

    def complete(self, response: ClientResponse) -> None:
        """The request has ended, one way or another. Under the manager's lock."""
        if response.delivery is Delivery.VERSION_MISMATCH:
            assert response.mismatch is not None
            self.version_mismatch(response.mismatch)
        elif response.body is None:
            self.look_up_coordinator()
            self.retry()
        else:
            self.handle(response.body)

    def fail(self, error: ProducerError) -> None:
        """End it without sending it."""
        self.result.fail(error)

    def retry(self) -> None:
        """Send it again, in its turn."""
        self.is_retry = True
        self.manager.enqueue(self)

    def look_up_coordinator(self) -> None:
        """Look up the coordinator before it is sent again."""
        if self.coordinator is not None:
            self.manager.look_up_coordinator(*self.coordinator)

    def fatal_error(self, error: ProducerError) -> None:
        """Nothing will be sent any more."""
        self.result.fail(error)
        self.manager.transition_to_fatal_error(error)

    def version_mismatch(self, error: UnsupportedVersion) -> None:
        """The broker does not speak it: without a producer id yet, it is too old for transactions."""
        if not self.manager.producer_id_and_epoch.is_valid:
            error = UnsupportedVersion(f"transactional.id needs brokers of 0.11 or later: {error}")
        self.fatal_error(error)

    def abortable_error(self, error: ProducerError) -> None:
        """The transaction can only be aborted."""
        self.result.fail(error)
        self.manager.transition_to_abortable_error(error)

    def act(self, outcome: Outcome, code: ErrorCode, message: str | None = None) -> None:
        """Act on an error."""
        if outcome in (Outcome.RETRY, Outcome.FIND_COORDINATOR_AND_RETRY):
            if outcome is Outcome.FIND_COORDINATOR_AND_RETRY:
                self.look_up_coordinator()
            self.retry()
        elif outcome is Outcome.FENCED:
            self.fatal_error(ProducerFenced())
        elif outcome is Outcome.ABORTABLE:
            self.abortable_error(transaction_error_of(code, message))
        elif outcome is Outcome.ABORTABLE_WITH_EPOCH_BUMP:
            error = transaction_error_of(code, message)
            self.result.fail(error)
            self.manager.transition_to_abortable_or_fatal_error(error, error)
        elif outcome is Outcome.FATAL:
            self.fatal_error(transaction_error_of(code, message))
        else:
            self.fatal_error(self.unexpected(code, message))

    def unexpected(self, code: ErrorCode, message: str | None = None) -> ProducerError:
        """The error of a code that no broker should return."""
        text = f"{code.name}: {message}" if message else code.name
        error = ProducerError(f"unexpected error in the response to {self.REQUEST.NAME}: {text}")
        error.error_code = code
        return error


class FindCoordinatorHandler(TxnRequestHandler):
    """The coordinator of a transactional id or a group."""

    REQUEST = FindCoordinatorRequest
    priority = Priority.FIND_COORDINATOR

    def __init__(self, manager: TransactionManager, kind: CoordinatorType, key: str) -> None:
        super().__init__(manager, manager.new_result("FindCoordinator"))
        self.kind = kind
        self.key = key

    @property
    def coordinator(self) -> None:
        """Any broker knows."""
        return

    def request(self, version: int) -> FindCoordinatorRequest:
        """KIP-699: several keys a request, from version 4 on."""
        if version >= _FIRST_BATCHED_FIND_COORDINATOR:
            return FindCoordinatorRequest(key_type=self.kind, coordinator_keys=[self.key])
        return FindCoordinatorRequest(key=self.key, key_type=self.kind)

    def handle(self, response: Message) -> None:
        """Remember the coordinator."""
        assert isinstance(response, FindCoordinatorResponse)
        found: Coordinator | FindCoordinatorResponse = response
        if response.coordinators:
            found = response.coordinators[0]
        if len(response.coordinators) > 1:
            self.fatal_error(IllegalState(f"requested one coordinator, {len(response.coordinators)} were returned"))
            return
        code = ErrorCode(found.error_code)
        if code is ErrorCode.NONE:
            self.manager.coordinator_found(self.kind, found.node_id, found.host, found.port)
            self.result.done()
        else:
            self.act(outcome_of(self.REQUEST, code), code, found.error_message)


class InitProducerIdHandler(TxnRequestHandler):
    """A producer id and epoch; fences the previous producer of the transactional id and aborts its transaction."""

    REQUEST = InitProducerIdRequest
    highest_version = _HIGHEST_INIT_PRODUCER_ID

    def __init__(
        self,
        manager: TransactionManager,
        producer: ProducerIdAndEpoch,
        result: TransactionalRequestResult | None = None,
    ) -> None:
        super().__init__(manager, manager.new_result("InitProducerId") if result is None else result)
        self.producer = producer
        self.is_epoch_bump = producer != NO_PRODUCER_ID_AND_EPOCH
        self.priority = Priority.EPOCH_BUMP if self.is_epoch_bump else Priority.INIT_PRODUCER_ID

    def request(self, version: int) -> InitProducerIdRequest:  # noqa: ARG002
        """With the current id and epoch, when it is for a new epoch (KIP-360)."""
        return InitProducerIdRequest(
            transactional_id=self.manager.transactional_id,
            transaction_timeout_ms=self.manager.transaction_timeout_ms,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
        )

    def handle(self, response: Message) -> None:
        """Take the id."""
        assert isinstance(response, InitProducerIdResponse)
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE:
            self.act(outcome_of(self.REQUEST, code), code)
            return
        producer = ProducerIdAndEpoch(producer_id=response.producer_id, epoch=response.producer_epoch)
        self.manager.id_given(producer, reset_sequences=self.is_epoch_bump)
        self.result.done()


class EndTxnHandler(TxnRequestHandler):
    """The end of a transaction. With KIP-890 its response has the epoch of the next one."""

    REQUEST = EndTxnRequest
    priority = Priority.END_TXN
    is_end_txn = True

    def __init__(self, manager: TransactionManager, *, committed: bool) -> None:
        super().__init__(manager, manager.new_result("EndTxn(commit)" if committed else "EndTxn(abort)"))
        self.committed = committed
        self.producer = manager.producer_id_and_epoch
        if not manager.is_transaction_v2_enabled:
            self.highest_version = LAST_VERSION_BEFORE_TRANSACTION_V2

    def request(self, version: int) -> EndTxnRequest:  # noqa: ARG002
        """Commit or abort."""
        return EndTxnRequest(
            transactional_id=self.manager.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            committed=self.committed,
        )

    def handle(self, response: Message) -> None:
        """The transaction is over."""
        assert isinstance(response, EndTxnResponse)
        code = ErrorCode(response.error_code)
        if code is ErrorCode.NONE:
            if response.producer_id != NO_PRODUCER_ID_AND_EPOCH.producer_id:
                producer = ProducerIdAndEpoch(producer_id=response.producer_id, epoch=response.producer_epoch)
                self.manager.epoch_bumped(producer)
            self.manager.complete_transaction(self.result)
        elif code is ErrorCode.TRANSACTION_ABORTABLE and not self.committed:
            # Nothing that an application could heal by aborting: not the error of its code.
            self.fatal_error(self.unexpected(code, "the coordinator cannot abort the transaction"))
        else:
            self.act(outcome_of(self.REQUEST, code), code)
