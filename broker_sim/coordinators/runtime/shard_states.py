"""The states of a shard. Mirrors CoordinatorRuntime.CoordinatorState.

| state | leaves to | when |
|---|---|---|
| INITIAL | LOADING | the broker becomes leader of the partition |
| LOADING | ACTIVE | all records are replayed |
| | FAILED | a record cannot be replayed, or the log cannot be read |
| ACTIVE | FAILED | an append returned another offset than the next one |
| FAILED | LOADING | the next election; at once after an append at another offset |
| any | CLOSED | the broker does not lead any more, or it stops |
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from protocol_specs.error_codes import ErrorCode

__all__ = ["ERRORS_BY_STATE", "ShardState", "may_become"]


class ShardState(Enum):
    """The state of one shard."""

    INITIAL = "initial"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    CLOSED = "closed"


_NEXT: Final = {
    ShardState.INITIAL: (ShardState.LOADING, ShardState.CLOSED),
    ShardState.LOADING: (ShardState.ACTIVE, ShardState.FAILED, ShardState.CLOSED),
    ShardState.ACTIVE: (ShardState.FAILED, ShardState.CLOSED),
    ShardState.FAILED: (ShardState.LOADING, ShardState.CLOSED),
    ShardState.CLOSED: (),
}


ERRORS_BY_STATE: Final = {
    ShardState.INITIAL: ErrorCode.NOT_COORDINATOR,
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.NOT_COORDINATOR,
    ShardState.CLOSED: ErrorCode.NOT_COORDINATOR,
}
"""The errors of operations in a state that has none."""


def may_become(state: ShardState, following: ShardState) -> bool:
    """Return True if a shard can go from one state to the other."""
    return following in _NEXT[state]
