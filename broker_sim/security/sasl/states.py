"""The states of a connection's authentication. Mirrors SaslServerAuthenticator.SaslState."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SASL_TABLE", "SASL_TRANSITIONS", "SaslEvent", "SaslState"]


class SaslState(Enum):
    """The states, in the order in which a connection passes them."""

    INITIAL_REQUEST = auto()
    """No frame has arrived."""
    HANDSHAKE_OR_VERSIONS_REQUEST = auto()
    """A first request was readable; ApiVersions has not succeeded."""
    HANDSHAKE_REQUEST = auto()
    """ApiVersions has succeeded: SaslHandshake must follow."""
    REAUTH_PROCESS_HANDSHAKE = auto()
    """The SaslHandshake of an authenticated connection has arrived (KIP-368)."""
    REAUTH_BAD_MECHANISM = auto()
    """It has named another mechanism than before: the next frame fails."""
    AUTHENTICATE = auto()
    """The mechanism is chosen: its tokens follow."""
    COMPLETE = auto()
    FAILED = auto()


class SaslEvent(Enum):
    """The events that change the state."""

    REQUEST_READ = auto()
    VERSIONS_SENT = auto()
    MECHANISM_CHOSEN = auto()
    MECHANISM_CHANGED = auto()
    AUTHENTICATED = auto()
    FAIL = auto()


_S, _E = SaslState, SaslEvent
SASL_TRANSITIONS: Final[Mapping[tuple[SaslState, SaslEvent], SaslState]] = {
    (_S.INITIAL_REQUEST, _E.REQUEST_READ): _S.HANDSHAKE_OR_VERSIONS_REQUEST,
    (_S.HANDSHAKE_OR_VERSIONS_REQUEST, _E.REQUEST_READ): _S.HANDSHAKE_OR_VERSIONS_REQUEST,
    (_S.HANDSHAKE_REQUEST, _E.REQUEST_READ): _S.HANDSHAKE_REQUEST,
    (_S.REAUTH_PROCESS_HANDSHAKE, _E.REQUEST_READ): _S.REAUTH_PROCESS_HANDSHAKE,
    (_S.AUTHENTICATE, _E.REQUEST_READ): _S.AUTHENTICATE,
    (_S.HANDSHAKE_OR_VERSIONS_REQUEST, _E.VERSIONS_SENT): _S.HANDSHAKE_REQUEST,
    (_S.HANDSHAKE_OR_VERSIONS_REQUEST, _E.MECHANISM_CHOSEN): _S.AUTHENTICATE,
    (_S.HANDSHAKE_REQUEST, _E.MECHANISM_CHOSEN): _S.AUTHENTICATE,
    (_S.REAUTH_PROCESS_HANDSHAKE, _E.MECHANISM_CHOSEN): _S.AUTHENTICATE,
    (_S.REAUTH_PROCESS_HANDSHAKE, _E.MECHANISM_CHANGED): _S.REAUTH_BAD_MECHANISM,
    (_S.AUTHENTICATE, _E.AUTHENTICATED): _S.COMPLETE,
} | {(state, _E.FAIL): _S.FAILED for state in _S if state not in (_S.COMPLETE, _S.FAILED)}
SASL_TABLE: Final = StateTable("SaslState", SASL_TRANSITIONS)
