"""The states of a member whose assignment is reconciled. Mirrors MemberState; the values are those of records."""

from __future__ import annotations

from enum import Enum

__all__ = ["MemberState"]


class MemberState(Enum):
    """The progress of a member towards its target assignment."""

    STABLE = 0
    """The member has its target assignment, or everything of it that it had at its epoch."""
    UNREVOKED_PARTITIONS = 1
    """The member must revoke partitions before it gets a new epoch."""
    UNRELEASED_PARTITIONS = 2
    """Other members have not released all partitions of the target assignment."""
    UNKNOWN = 127
    """The state of a newer release."""

    @classmethod
    def from_value(cls, value: int) -> MemberState:
        """Return the state of a record's value; UNKNOWN for one that this release does not have."""
        return cls(value) if value in (0, 1, 2) else cls.UNKNOWN
