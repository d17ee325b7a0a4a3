"""A member of a consumer or share group. Mirrors ModernGroupMember."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.epoch_member import EpochMember
from broker_sim.coordinators.groups.modern.member_state import MemberState

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["ModernMember"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernMember(EpochMember):
    """The subscription and the current assignment of a member."""

    state: MemberState = MemberState.STABLE
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: TopicPartitions = field(default_factory=dict)

    @property
    def is_stable(self) -> bool:
        """True if the member has the target assignment of its epoch."""
        return self.state is MemberState.STABLE

    @property
    def must_revoke(self) -> bool:
        """True if the member must revoke partitions before it gets a new epoch."""
        return self.state is MemberState.UNREVOKED_PARTITIONS
