"""A member of a consumer group. Mirrors ConsumerGroupMember. Members are immutable: changes make new ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.modern_member import ModernMember

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.modern.member_state import MemberState
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["ClassicProtocolData", "ConsumerMember"]


@dataclass(frozen=True, slots=True)
class ClassicProtocolData:
    """The session and the protocols of a member that uses the classic protocol in a consumer group."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Name and metadata, the preferred protocol first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember(ModernMember):
    """The fields of a modern member, and those of consumer groups alone."""

    subscribed_topic_regex: str | None = ""
    server_assignor: str | None = None
    pending_revocation: TopicPartitions = field(default_factory=dict)
    """Partitions that the member must revoke before it gets a new epoch."""
    assignment_epochs: Mapping[tuple[bytes, int], int] = field(default_factory=dict)
    """The epoch at which the member got each of its partitions; empty before 4.3."""
    classic: ClassicProtocolData | None = None
    """Set while the member uses the classic protocol."""

    @property
    def uses_classic_protocol(self) -> bool:
        """True if the member joins, syncs and heartbeats as in a classic group."""
        return self.classic is not None

    @property
    def progress(self) -> tuple[int, MemberState, TopicPartitions, TopicPartitions]:
        """The fields that reconciliation changes."""
        return self.member_epoch, self.state, self.assigned, self.pending_revocation

    def at_epoch(
        self, member_epoch: int, state: MemberState, assigned: TopicPartitions, pending: TopicPartitions
    ) -> ConsumerMember:
        """Return the member after a step of its reconciliation; the epoch so far becomes the previous one."""
        return replace(
            self,
            member_epoch=member_epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned=assigned,
            pending_revocation=pending,
        )
