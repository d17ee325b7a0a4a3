"""A member of a consumer or share group. Mirrors ModernGroupMember. Members are immutable: changes make new ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.modern.member_state import MemberState

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["LEAVE_EPOCH", "STATIC_LEAVE_EPOCH", "ModernMember"]

LEAVE_EPOCH: Final = -1
"""The epoch with which a member leaves."""
STATIC_LEAVE_EPOCH: Final = -2
"""The epoch with which a static member leaves for a while: its partitions stay its own until its session expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernMember:
    """The subscription, the epochs and the current assignment of a member."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: TopicPartitions = field(default_factory=dict)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return True if nothing is left to do for the target assignment of an epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch
