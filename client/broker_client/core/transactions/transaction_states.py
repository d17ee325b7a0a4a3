"""The states of a producer's identity and of its transaction. Mirrors TransactionManager.State.

UNINITIALIZED: no producer id. INITIALIZING: InitProducerId is on its way. READY: batches may be drained, or a
transaction may begin. IN_TRANSACTION: records and offsets join it. COMMITTING_TRANSACTION, ABORTING_TRANSACTION: EndTxn
waits for the batches, or for its response. ABORTABLE_ERROR: what is queued fails; abort makes it READY again (without a
transaction, and after a refused transactional id, the id is requested anew). FATAL_ERROR: nothing will be sent any
more.
A caller's event that the table does not have is refused, and the state stays; on the Sender's side it is a
bug and ends in FATAL_ERROR. KIP-939's prepared state is not supported.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TRANSACTION_STATES", "TransactionEvent", "TransactionState"]


class TransactionState(Enum):
    """See the module."""

    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING_TRANSACTION = auto()
    ABORTING_TRANSACTION = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


class TransactionEvent(Enum):
    """The events of the producer's identity and its transaction."""

    ID_REQUESTED = auto()
    ID_GIVEN = auto()
    ID_RESET = auto()
    AUTHORIZATION_REFUSED = auto()
    BEGIN_REQUESTED = auto()
    COMMIT_REQUESTED = auto()
    ABORT_REQUESTED = auto()
    COMPLETED = auto()
    COMPLETED_BEFORE_EPOCH_BUMP = auto()
    ABORTABLE = auto()
    FATAL = auto()


_S = TransactionState
_E = TransactionEvent

_TRANSITIONS: Final[Mapping[tuple[TransactionState, TransactionEvent], TransactionState]] = {
    (_S.UNINITIALIZED, _E.ID_REQUESTED): _S.INITIALIZING,
    (_S.UNINITIALIZED, _E.FATAL): _S.FATAL_ERROR,
    (_S.INITIALIZING, _E.ID_GIVEN): _S.READY,
    (_S.INITIALIZING, _E.AUTHORIZATION_REFUSED): _S.ABORTABLE_ERROR,
    (_S.INITIALIZING, _E.ABORTABLE): _S.ABORTABLE_ERROR,
    (_S.INITIALIZING, _E.FATAL): _S.FATAL_ERROR,
    # The epoch is used up: a new id is requested.
    (_S.READY, _E.ID_RESET): _S.UNINITIALIZED,
    (_S.READY, _E.BEGIN_REQUESTED): _S.IN_TRANSACTION,
    (_S.READY, _E.FATAL): _S.FATAL_ERROR,
    (_S.IN_TRANSACTION, _E.COMMIT_REQUESTED): _S.COMMITTING_TRANSACTION,
    (_S.IN_TRANSACTION, _E.ABORT_REQUESTED): _S.ABORTING_TRANSACTION,
    (_S.IN_TRANSACTION, _E.ABORTABLE): _S.ABORTABLE_ERROR,
    (_S.IN_TRANSACTION, _E.FATAL): _S.FATAL_ERROR,
    (_S.COMMITTING_TRANSACTION, _E.COMPLETED): _S.READY,
    (_S.COMMITTING_TRANSACTION, _E.COMPLETED_BEFORE_EPOCH_BUMP): _S.INITIALIZING,
    (_S.COMMITTING_TRANSACTION, _E.ABORTABLE): _S.ABORTABLE_ERROR,
    (_S.COMMITTING_TRANSACTION, _E.FATAL): _S.FATAL_ERROR,
    (_S.ABORTING_TRANSACTION, _E.COMPLETED): _S.READY,
    (_S.ABORTING_TRANSACTION, _E.COMPLETED_BEFORE_EPOCH_BUMP): _S.INITIALIZING,
    # It is being aborted already.
    (_S.ABORTING_TRANSACTION, _E.ABORTABLE): _S.ABORTING_TRANSACTION,
    (_S.ABORTING_TRANSACTION, _E.FATAL): _S.FATAL_ERROR,
    (_S.ABORTABLE_ERROR, _E.ID_RESET): _S.UNINITIALIZED,
    (_S.ABORTABLE_ERROR, _E.ABORT_REQUESTED): _S.ABORTING_TRANSACTION,
    (_S.ABORTABLE_ERROR, _E.ABORTABLE): _S.ABORTABLE_ERROR,
    (_S.ABORTABLE_ERROR, _E.FATAL): _S.FATAL_ERROR,
    (_S.FATAL_ERROR, _E.FATAL): _S.FATAL_ERROR,
}

TRANSACTION_STATES: Final = StateTable("TransactionState", _TRANSITIONS)
