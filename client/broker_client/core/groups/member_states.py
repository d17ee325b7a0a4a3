"""The states of a member of a classic group, and its generation. Mirrors MemberState and Generation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sim_runtime.state_table import StateTable

__all__ = ["NO_GENERATION", "Generation", "MemberEvent", "MemberState", "MemberStates"]


class MemberState(Enum):
    """The states of MemberState."""

    UNJOINED = auto()
    PREPARING_REBALANCE = auto()
    COMPLETING_REBALANCE = auto()
    STABLE = auto()

    @property
    def has_not_joined(self) -> bool:
        """True before the coordinator has confirmed a join: no heartbeats are sent."""
        return self in (MemberState.UNJOINED, MemberState.PREPARING_REBALANCE)

    @property
    def is_rebalancing(self) -> bool:
        """True between JoinGroup and the response to SyncGroup."""
        return self in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)


class MemberEvent(Enum):
    """The events of a membership."""

    JOIN_SENT = auto()
    JOINED = auto()
    SYNCED = auto()
    RESET = auto()


_S = MemberState
_E = MemberEvent

MemberStates: Final = StateTable(
    "group member",
    {
        **{(state, _E.JOIN_SENT): _S.PREPARING_REBALANCE for state in _S},
        (_S.PREPARING_REBALANCE, _E.JOINED): _S.COMPLETING_REBALANCE,
        (_S.COMPLETING_REBALANCE, _E.SYNCED): _S.STABLE,
        **{(state, _E.RESET): _S.UNJOINED for state in _S},
    },
)


@dataclass(slots=True, frozen=True)
class Generation:
    """The membership in one generation; `protocol_name` is None before a join has succeeded."""

    generation_id: int
    member_id: str
    protocol_name: str | None = None

    @property
    def is_reset(self) -> bool:
        """True if the membership was lost since the last join."""
        return self.generation_id == NO_GENERATION.generation_id and self.protocol_name is None

    @property
    def is_member(self) -> bool:
        """True if the coordinator knows the member with this generation."""
        return self.generation_id != NO_GENERATION.generation_id and bool(self.member_id)


NO_GENERATION: Final = Generation(-1, "")
