"""The outcome of a coordinator's error, by request and code: one table for all of TransactionManager's handlers.

What stands for every request comes first, then each request's own; a code in neither table is fatal. KIP-360 (which
errors an epoch bump heals), KIP-890 (TRANSACTION_ABORTABLE), KIP-1050 (INVALID_PRODUCER_ID_MAPPING is for the
application to recover from, with a new producer).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from protocol_specs.messages.end_txn import EndTxnRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message

__all__ = ["Outcome", "outcome_of"]


class Outcome(Enum):
    """The outcome of a request whose response has an error."""

    FIND_COORDINATOR_AND_RETRY = auto()
    RETRY = auto()
    ABORTABLE = auto()
    ABORTABLE_WITH_EPOCH_BUMP = auto()
    """Abortable when a new epoch can be had, else fatal."""
    UNAUTHORIZED_TOPIC = auto()
    NOT_ATTEMPTED = auto()
    COMMIT_FAILED = auto()
    FENCED = auto()
    FATAL = auto()
    UNEXPECTED = auto()
    """Fatal, and no code that a broker should return."""


_E = ErrorCode
_O = Outcome

_OF_EVERY_COORDINATOR: Final[Mapping[ErrorCode, Outcome]] = {
    _E.NOT_COORDINATOR: _O.FIND_COORDINATOR_AND_RETRY,
    _E.COORDINATOR_NOT_AVAILABLE: _O.FIND_COORDINATOR_AND_RETRY,
    # Old coordinators return INVALID_PRODUCER_EPOCH where newer ones return PRODUCER_FENCED.
    _E.INVALID_PRODUCER_EPOCH: _O.FENCED,
    _E.PRODUCER_FENCED: _O.FENCED,
    _E.TRANSACTION_ABORTABLE: _O.ABORTABLE,
}
_OF_A_TRANSACTION: Final[Mapping[ErrorCode, Outcome]] = {
    **_OF_EVERY_COORDINATOR,
    _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _O.FATAL,
    _E.INVALID_TXN_STATE: _O.FATAL,
    _E.INVALID_PRODUCER_ID_MAPPING: _O.FATAL,
    _E.UNKNOWN_PRODUCER_ID: _O.ABORTABLE_WITH_EPOCH_BUMP,
}
_OUTCOMES: Final[Mapping[type[Message], Mapping[ErrorCode, Outcome]]] = {
    FindCoordinatorRequest: {
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _O.FATAL,
        _E.GROUP_AUTHORIZATION_FAILED: _O.ABORTABLE,
        _E.TRANSACTION_ABORTABLE: _O.ABORTABLE,
    },
    InitProducerIdRequest: {
        **_OF_EVERY_COORDINATOR,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _O.ABORTABLE,
        _E.CLUSTER_AUTHORIZATION_FAILED: _O.ABORTABLE,
    },
    AddPartitionsToTxnRequest: {
        **_OF_A_TRANSACTION,
        _E.TOPIC_AUTHORIZATION_FAILED: _O.UNAUTHORIZED_TOPIC,
        _E.OPERATION_NOT_ATTEMPTED: _O.NOT_ATTEMPTED,
    },
    AddOffsetsToTxnRequest: {**_OF_A_TRANSACTION, _E.GROUP_AUTHORIZATION_FAILED: _O.ABORTABLE},
    EndTxnRequest: _OF_A_TRANSACTION,
    TxnOffsetCommitRequest: {
        **_OF_EVERY_COORDINATOR,
        _E.REQUEST_TIMED_OUT: _O.FIND_COORDINATOR_AND_RETRY,
        _E.GROUP_AUTHORIZATION_FAILED: _O.ABORTABLE,
        _E.FENCED_INSTANCE_ID: _O.ABORTABLE,
        _E.UNKNOWN_MEMBER_ID: _O.COMMIT_FAILED,
        _E.ILLEGAL_GENERATION: _O.COMMIT_FAILED,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _O.FATAL,
        _E.UNSUPPORTED_FOR_MESSAGE_FORMAT: _O.FATAL,
    },
}


def outcome_of(request: type[Message], code: ErrorCode) -> Outcome:
    """The outcome of an error in the response to `request`."""
    known = _OUTCOMES[request].get(code)
    if known is not None:
        return known
    return Outcome.RETRY if code.retriable else Outcome.UNEXPECTED
