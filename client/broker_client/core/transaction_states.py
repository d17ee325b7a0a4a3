"""The states of a producer's identity, so far as idempotence needs them. Mirrors TransactionManager.State.

UNINITIALIZED: no producer id; the Sender asks for one. INITIALIZING: InitProducerId is on its way. READY: batches may
be
drained. ABORTABLE_ERROR: the broker does not authorize idempotent sends; what is queued fails, then the id is asked
for anew.
FATAL_ERROR: nothing will be sent any more. The states of a transaction join this table with transactions.
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
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


class TransactionEvent(Enum):
    """What happens to the producer's identity."""

    ID_ASKED = auto()
    ID_GIVEN = auto()
    ID_RESET = auto()
    AUTHORIZATION_REFUSED = auto()
    FATAL = auto()


_S = TransactionState
_E = TransactionEvent

_TRANSITIONS: Final[Mapping[tuple[TransactionState, TransactionEvent], TransactionState]] = {
    (_S.UNINITIALIZED, _E.ID_ASKED): _S.INITIALIZING,
    (_S.UNINITIALIZED, _E.FATAL): _S.FATAL_ERROR,
    (_S.INITIALIZING, _E.ID_GIVEN): _S.READY,
    (_S.INITIALIZING, _E.AUTHORIZATION_REFUSED): _S.ABORTABLE_ERROR,
    (_S.INITIALIZING, _E.FATAL): _S.FATAL_ERROR,
    # The epoch is used up: a new id is asked for.
    (_S.READY, _E.ID_RESET): _S.UNINITIALIZED,
    (_S.READY, _E.FATAL): _S.FATAL_ERROR,
    (_S.ABORTABLE_ERROR, _E.ID_RESET): _S.UNINITIALIZED,
    (_S.ABORTABLE_ERROR, _E.FATAL): _S.FATAL_ERROR,
    (_S.FATAL_ERROR, _E.FATAL): _S.FATAL_ERROR,
}

TRANSACTION_STATES: Final = StateTable("TransactionState", _TRANSITIONS)
