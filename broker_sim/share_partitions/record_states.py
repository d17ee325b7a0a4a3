"""The states of a record that a share partition delivers. Mirrors RecordState.

| state | leaves to | when |
|---|---|---|
| AVAILABLE | ACQUIRED | a member fetches the record |
| | ARCHIVED | the log start passes it, or it was compacted away |
| ACQUIRED | ACKNOWLEDGED | the member accepts it |
| | ARCHIVED | the member rejects it, it is a gap or aborted, or its last delivery has failed |
| | AVAILABLE | the member releases it, its lock expires, or its session ends |
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["AcknowledgeType", "RecordState", "may_become"]


class RecordState(IntEnum):
    """The state of one record, or of all records of a batch; the value is the one of the stored state."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        """True if the record is never delivered again."""
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class AcknowledgeType(IntEnum):
    """How a member acknowledges a record. Mirrors AcknowledgeType; a gap is an offset without a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_NEXT: Final = {
    RecordState.AVAILABLE: (RecordState.ACQUIRED,),
    RecordState.ACQUIRED: (RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED),
    RecordState.ACKNOWLEDGED: (),
    RecordState.ARCHIVED: (),
}


def may_become(state: RecordState, following: RecordState) -> bool:
    """Return True if a member's request or a lock can change one state to the other; archival may end any state."""
    return following in _NEXT[state]
