"""The fields that the members of consumer, share and streams groups have in common.

Members are immutable: changes make new ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["LEAVE_EPOCH", "STATIC_LEAVE_EPOCH", "EpochMember"]

LEAVE_EPOCH: Final = -1
"""The epoch with which a member leaves."""
STATIC_LEAVE_EPOCH: Final = -2
"""The epoch with which a static member leaves for a while: its partitions stay its own until its session expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochMember(ABC):
    """The client and the epochs of a member."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    """The time to revoke partitions or tasks; share groups have none."""
    assigned: Any
    """The current assignment."""

    @property
    @abstractmethod
    def is_stable(self) -> bool:
        """True if the member has the target assignment of its epoch."""

    @property
    @abstractmethod
    def must_revoke(self) -> bool:
        """True if the member must revoke partitions or tasks before it gets a new epoch."""

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return True if nothing is left to do for the target assignment of an epoch."""
        return self.is_stable and self.member_epoch == assignment_epoch
