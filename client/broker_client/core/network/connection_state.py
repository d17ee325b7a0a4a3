"""The states of a client's connection to one node. Mirrors ConnectionState.

DISCONNECTED: no connection; one may begin when the reconnect back-off has passed. CONNECTING: the address is being
connected to; ends by `connected`, by failure, or by the set-up time-out. CHECKING_API_VERSIONS: connected, and the
versions of the node are requested; the set-up time-out still runs. READY: requests may be sent.
AUTHENTICATION_FAILED: as DISCONNECTED, but for a reason that an update of the metadata does not heal: no TLS with the
node.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONNECTION_STATES", "ConnectionEvent", "ConnectionState"]


class ConnectionState(Enum):
    """See the module."""

    DISCONNECTED = auto()
    CONNECTING = auto()
    CHECKING_API_VERSIONS = auto()
    READY = auto()
    AUTHENTICATION_FAILED = auto()


class ConnectionEvent(Enum):
    """The events of a connection."""

    CONNECT_STARTED = auto()
    VERSIONS_REQUESTED = auto()
    VERSIONS_KNOWN = auto()
    CONNECTION_LOST = auto()
    AUTHENTICATION_REFUSED = auto()


_S = ConnectionState
_E = ConnectionEvent

_TRANSITIONS: Final[Mapping[tuple[ConnectionState, ConnectionEvent], ConnectionState]] = {
    (_S.DISCONNECTED, _E.CONNECT_STARTED): _S.CONNECTING,
    (_S.DISCONNECTED, _E.CONNECTION_LOST): _S.DISCONNECTED,
    (_S.DISCONNECTED, _E.AUTHENTICATION_REFUSED): _S.AUTHENTICATION_FAILED,
    (_S.CONNECTING, _E.VERSIONS_REQUESTED): _S.CHECKING_API_VERSIONS,
    (_S.CONNECTING, _E.VERSIONS_KNOWN): _S.READY,
    (_S.CONNECTING, _E.CONNECTION_LOST): _S.DISCONNECTED,
    (_S.CONNECTING, _E.AUTHENTICATION_REFUSED): _S.AUTHENTICATION_FAILED,
    # A node that refuses our version of ApiVersions gets a request in its own.
    (_S.CHECKING_API_VERSIONS, _E.VERSIONS_REQUESTED): _S.CHECKING_API_VERSIONS,
    (_S.CHECKING_API_VERSIONS, _E.VERSIONS_KNOWN): _S.READY,
    (_S.CHECKING_API_VERSIONS, _E.CONNECTION_LOST): _S.DISCONNECTED,
    (_S.CHECKING_API_VERSIONS, _E.AUTHENTICATION_REFUSED): _S.AUTHENTICATION_FAILED,
    (_S.READY, _E.CONNECTION_LOST): _S.DISCONNECTED,
    (_S.READY, _E.AUTHENTICATION_REFUSED): _S.AUTHENTICATION_FAILED,
    (_S.AUTHENTICATION_FAILED, _E.CONNECT_STARTED): _S.CONNECTING,
    (_S.AUTHENTICATION_FAILED, _E.CONNECTION_LOST): _S.AUTHENTICATION_FAILED,
}

CONNECTION_STATES: Final = StateTable("ConnectionState", _TRANSITIONS)
