"""The errors of transactional producers, beyond those of every producer, and of the admin calls for transactions.

After a fatal error (ProducerFenced, and all others that set the state FATAL_ERROR) the producer must be closed. After
an abortable error `abort_transaction` makes the producer ready for the next transaction. The next transactional call
raises TransactionInError, whose `fatal` distinguishes the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.errors import BrokerError, ProducerError, ProducerTimeout, TopicAuthorizationFailed, error_of
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "InvalidProducerEpoch",
    "ProducerFenced",
    "TransactionAbortable",
    "TransactionAborted",
    "TransactionCoordinatorFenced",
    "TransactionInError",
    "TransactionTimeout",
    "TransactionalIdAuthorizationFailed",
    "TransactionalIdNotFound",
    "topics_authorization_failed",
    "transaction_error_of",
    "transactional_id_error",
]


class ProducerFenced(BrokerError):
    """Another producer has the same transactional.id and a newer epoch. Mirrors ProducerFencedException."""

    def __init__(self, message: str | None = None) -> None:
        text = message or "a newer producer with the same transactional.id has fenced this one"
        super().__init__(ErrorCode.PRODUCER_FENCED, text)


class InvalidProducerEpoch(BrokerError):
    """A partition leader has a newer epoch of this producer. Mirrors InvalidProducerEpochException."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(ErrorCode.INVALID_PRODUCER_EPOCH, message or "the producer wrote with an old epoch")


class TransactionAbortable(BrokerError):
    """The transaction can only be aborted; another may follow. Mirrors TransactionAbortableException."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(ErrorCode.TRANSACTION_ABORTABLE, message or "the transaction can only be aborted")


class TransactionalIdAuthorizationFailed(BrokerError):
    """The client is not authorized to use the transactional id. Mirrors TransactionalIdAuthorizationException."""

    def __init__(self, message: str | None = None) -> None:
        text = message or "not authorized to use the transactional id"
        super().__init__(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, text)


class TransactionalIdNotFound(BrokerError):
    """The coordinator has no state of the transactional id. Mirrors TransactionalIdNotFoundException."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, message or "the transactional id does not exist")


class TransactionCoordinatorFenced(BrokerError):
    """A coordinator with a newer epoch has written a marker. Mirrors TransactionCoordinatorFencedException."""

    def __init__(self, message: str | None = None) -> None:
        text = message or "the active coordinator has a newer epoch"
        super().__init__(ErrorCode.TRANSACTION_COORDINATOR_FENCED, text)


class TransactionAborted(ProducerError):
    """The record was not sent yet when its transaction was aborted. Mirrors TransactionAbortedException."""


class TransactionInError(ProducerError):
    """An earlier error, `cause`, ended the transaction, or the producer if it is `fatal`."""

    def __init__(self, cause: ProducerError, *, fatal: bool) -> None:
        super().__init__(cause, fatal)
        self.cause = cause
        self.fatal = fatal
        self.error_code = cause.error_code

    def __str__(self) -> str:
        way_out = "close the producer" if self.fatal else "abort_transaction() first"
        return f"the transaction is in error, {way_out}: {self.cause}"


class TransactionTimeout(ProducerTimeout):
    """A transactional call took longer than max.block.ms; the same call may be repeated and continues the wait."""


_CLASSES: Final[Mapping[ErrorCode, type[BrokerError]]] = {
    ErrorCode.PRODUCER_FENCED: ProducerFenced,
    ErrorCode.INVALID_PRODUCER_EPOCH: InvalidProducerEpoch,
    ErrorCode.TRANSACTION_ABORTABLE: TransactionAbortable,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationFailed,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: TransactionalIdNotFound,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: TransactionCoordinatorFenced,
}


def transaction_error_of(error_code: ErrorCode, message: str | None = None) -> ProducerError:
    """Return the error for a coordinator's error code."""
    known = _CLASSES.get(error_code)
    return error_of(error_code, message) if known is None else known(message)  # type: ignore[arg-type]


def transactional_id_error(error_code: ErrorCode, transactional_id: str, message: str | None = None) -> ProducerError:
    """Return the error for a code that a coordinator returns for a transactional id, which the text names."""
    return transaction_error_of(error_code, message or f"transactional id {transactional_id!r}")


def topics_authorization_failed(topics: Iterable[str]) -> ProducerError:
    """Return the error for topics that the client is not authorized to write to."""
    names = sorted(topics)
    if len(names) == 1:
        return TopicAuthorizationFailed(names[0])
    return BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"not authorized to access topics {', '.join(names)}")
