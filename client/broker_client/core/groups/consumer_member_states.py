"""The states of a member in the consumer protocol (KIP-848). Mirrors MemberState of Java's async consumer."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from sim_runtime.state_table import StateTable

__all__ = ["ConsumerMemberEvent", "ConsumerMemberState", "ConsumerMemberStates"]


class ConsumerMemberState(Enum):
    """The states of MemberState."""

    UNSUBSCRIBED = auto()
    JOINING = auto()
    RECONCILING = auto()
    ACKNOWLEDGING = auto()
    STABLE = auto()
    FENCED = auto()
    PREPARE_LEAVING = auto()
    LEAVING = auto()
    STALE = auto()
    FATAL = auto()

    @property
    def sends_heartbeats(self) -> bool:
        """False if the member is in no group, or must not report to it."""
        return self not in _SILENT

    @property
    def sends_at_once(self) -> bool:
        """True if a heartbeat does not wait for its interval."""
        return self in (
            ConsumerMemberState.JOINING,
            ConsumerMemberState.ACKNOWLEDGING,
            ConsumerMemberState.LEAVING,
        )

    @property
    def takes_assignments(self) -> bool:
        """True if an assignment in a response is to be reconciled."""
        return self in _ASSIGNABLE


class ConsumerMemberEvent(Enum):
    """The events of a membership."""

    JOIN = auto()
    ASSIGNED = auto()
    UNCHANGED = auto()
    RECONCILED = auto()
    ACKNOWLEDGED = auto()
    FENCED = auto()
    LEAVE = auto()
    SEND_LEAVE = auto()
    LEFT = auto()
    POLL_EXPIRED = auto()
    FAILED = auto()


_S = ConsumerMemberState
_E = ConsumerMemberEvent
_SILENT: Final = (_S.UNSUBSCRIBED, _S.FENCED, _S.STALE, _S.FATAL)
_ASSIGNABLE: Final = (_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE)
_IN_GROUP: Final = (*_ASSIGNABLE, _S.PREPARE_LEAVING)

ConsumerMemberStates: Final = StateTable(
    "consumer member",
    {
        **{(state, _E.JOIN): _S.JOINING for state in (_S.UNSUBSCRIBED, _S.FENCED, _S.STALE)},
        **{(state, _E.ASSIGNED): _S.RECONCILING for state in _ASSIGNABLE},
        **{(state, _E.UNCHANGED): _S.STABLE for state in (_S.JOINING, _S.RECONCILING, _S.STABLE)},
        (_S.ACKNOWLEDGING, _E.UNCHANGED): _S.ACKNOWLEDGING,
        (_S.RECONCILING, _E.RECONCILED): _S.ACKNOWLEDGING,
        (_S.ACKNOWLEDGING, _E.ACKNOWLEDGED): _S.STABLE,
        **{(state, _E.FENCED): _S.FENCED for state in _ASSIGNABLE},
        **{(state, _E.LEAVE): _S.PREPARE_LEAVING for state in _ASSIGNABLE},
        **{(state, _E.SEND_LEAVE): _S.LEAVING for state in _IN_GROUP},
        **{
            (state, _E.LEFT): _S.UNSUBSCRIBED
            for state in (_S.LEAVING, _S.PREPARE_LEAVING, _S.FENCED, _S.STALE, _S.UNSUBSCRIBED)
        },
        (_S.LEAVING, _E.POLL_EXPIRED): _S.STALE,
        **{(state, _E.FAILED): _S.FATAL for state in _S},
    },
)
