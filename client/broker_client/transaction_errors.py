"""The errors of transactional producers, beyond those of every producer.

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
    "TransactionInError",
    "TransactionTimeout",
    "topics_authorization_failed",
    "transaction_error_of",
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
}


def transaction_error_of(error_code: ErrorCode, message: str | None = None) -> ProducerError:
    """Return the error for a coordinator's error code."""
    known = _CLASSES.get(error_code)
    return error_of(error_code, message) if known is None else known(message)  # type: ignore[arg-type]


def topics_authorization_failed(topics: Iterable[str]) -> ProducerError:
    """Return the error for topics that the client is not authorized to write to."""
    names = sorted(topics)
    if len(names) == 1:
        return TopicAuthorizationFailed(names[0])
    return BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"not authorized to access topics {', '.join(names)}")
