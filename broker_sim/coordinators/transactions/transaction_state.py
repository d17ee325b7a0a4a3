"""The states of a transaction, and which state may follow which. Mirrors TransactionState.

| state | from | by |
|---|---|---|
| EMPTY | EMPTY, COMPLETE_* | InitProducerId |
| ONGOING | EMPTY, ONGOING, COMPLETE_* | a partition or a group is added |
| PREPARE_COMMIT | ONGOING | EndTxn |
| PREPARE_ABORT | ONGOING, PREPARE_EPOCH_FENCE; with transactions v2 also EMPTY, COMPLETE_* | EndTxn, a fence |
| COMPLETE_COMMIT, COMPLETE_ABORT | their PREPARE | all markers are written |
| DEAD | EMPTY, COMPLETE_* | expiry |
| PREPARE_EPOCH_FENCE | ONGOING | a time-out, InitProducerId |

DEAD and PREPARE_EPOCH_FENCE are pending only: the id is removed, PREPARE_ABORT follows at once.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["COMPLETE", "PENDING_ONLY", "PREPARE", "TransactionState", "may_follow"]


class TransactionState(IntEnum):
    """The value is the one in records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name in responses: `PrepareCommit`."""
        return _LABELS[self]

    @classmethod
    def of_label(cls, label: str) -> TransactionState | None:
        """Return the state of a name, None for an unknown name."""
        return _BY_LABEL.get(label)


_LABELS: Final = {state: state.name.title().replace("_", "") for state in TransactionState}
_BY_LABEL: Final = {label: state for state, label in _LABELS.items()}

PREPARE: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
"""The end of the transaction is decided, its markers are not all written."""
COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
"""All markers are written."""

PENDING_ONLY: Final = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)
"""No record of a broker has them."""

_PREVIOUS: Final = {
    TransactionState.EMPTY: (TransactionState.EMPTY, *COMPLETE),
    TransactionState.ONGOING: (TransactionState.ONGOING, TransactionState.EMPTY, *COMPLETE),
    TransactionState.PREPARE_COMMIT: (TransactionState.ONGOING,),
    TransactionState.PREPARE_ABORT: (
        TransactionState.ONGOING,
        TransactionState.PREPARE_EPOCH_FENCE,
        TransactionState.EMPTY,
        *COMPLETE,
    ),
    TransactionState.COMPLETE_COMMIT: (TransactionState.PREPARE_COMMIT,),
    TransactionState.COMPLETE_ABORT: (TransactionState.PREPARE_ABORT,),
    TransactionState.DEAD: (TransactionState.EMPTY, *COMPLETE),
    TransactionState.PREPARE_EPOCH_FENCE: (TransactionState.ONGOING,),
}


def may_follow(state: TransactionState, following: TransactionState) -> bool:
    """Return True if a transaction can go from one state to the other."""
    return state in _PREVIOUS[following]
