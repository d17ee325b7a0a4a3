"""Where a client's telemetry stands. Mirrors ClientTelemetryState.

SUBSCRIPTION_NEEDED: the subscription is requested once the interval is over. SUBSCRIPTION_IN_PROGRESS: that is on
its way. PUSH_NEEDED: metrics are pushed, once the interval is over. PUSH_IN_PROGRESS: they are on their way.
TERMINATING_PUSH_NEEDED, TERMINATING_PUSH_IN_PROGRESS: the client closes; the responses of earlier requests do not
count any more. TERMINATED: nothing will be sent.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TELEMETRY_STATES", "TERMINATING", "TelemetryEvent", "TelemetryState"]


class TelemetryState(Enum):
    """See the module."""

    SUBSCRIPTION_NEEDED = auto()
    SUBSCRIPTION_IN_PROGRESS = auto()
    PUSH_NEEDED = auto()
    PUSH_IN_PROGRESS = auto()
    TERMINATING_PUSH_NEEDED = auto()
    TERMINATING_PUSH_IN_PROGRESS = auto()
    TERMINATED = auto()


class TelemetryEvent(Enum):
    """The events of the reporter."""

    REQUEST_SENT = auto()
    METRICS_WANTED = auto()
    NOTHING_WANTED = auto()
    PUSHED = auto()
    FAILED = auto()
    CLOSE_BEGAN = auto()
    CLOSED = auto()


_S = TelemetryState
_E = TelemetryEvent

TERMINATING: Final = (_S.TERMINATING_PUSH_NEEDED, _S.TERMINATING_PUSH_IN_PROGRESS, _S.TERMINATED)

_TRANSITIONS: Final[Mapping[tuple[TelemetryState, TelemetryEvent], TelemetryState]] = {
    (_S.SUBSCRIPTION_NEEDED, _E.REQUEST_SENT): _S.SUBSCRIPTION_IN_PROGRESS,
    (_S.SUBSCRIPTION_NEEDED, _E.CLOSED): _S.TERMINATED,
    (_S.SUBSCRIPTION_IN_PROGRESS, _E.METRICS_WANTED): _S.PUSH_NEEDED,
    (_S.SUBSCRIPTION_IN_PROGRESS, _E.NOTHING_WANTED): _S.SUBSCRIPTION_NEEDED,
    (_S.SUBSCRIPTION_IN_PROGRESS, _E.FAILED): _S.SUBSCRIPTION_NEEDED,
    (_S.SUBSCRIPTION_IN_PROGRESS, _E.CLOSE_BEGAN): _S.TERMINATING_PUSH_NEEDED,
    (_S.SUBSCRIPTION_IN_PROGRESS, _E.CLOSED): _S.TERMINATED,
    (_S.PUSH_NEEDED, _E.REQUEST_SENT): _S.PUSH_IN_PROGRESS,
    (_S.PUSH_NEEDED, _E.CLOSE_BEGAN): _S.TERMINATING_PUSH_NEEDED,
    (_S.PUSH_NEEDED, _E.CLOSED): _S.TERMINATED,
    (_S.PUSH_IN_PROGRESS, _E.PUSHED): _S.PUSH_NEEDED,
    (_S.PUSH_IN_PROGRESS, _E.FAILED): _S.SUBSCRIPTION_NEEDED,
    (_S.PUSH_IN_PROGRESS, _E.CLOSE_BEGAN): _S.TERMINATING_PUSH_NEEDED,
    (_S.PUSH_IN_PROGRESS, _E.CLOSED): _S.TERMINATED,
    (_S.TERMINATING_PUSH_NEEDED, _E.REQUEST_SENT): _S.TERMINATING_PUSH_IN_PROGRESS,
    (_S.TERMINATING_PUSH_NEEDED, _E.CLOSED): _S.TERMINATED,
    (_S.TERMINATING_PUSH_IN_PROGRESS, _E.CLOSED): _S.TERMINATED,
}
TELEMETRY_STATES: Final = StateTable("client telemetry", _TRANSITIONS)
