"""The states of the exchange that authenticates a connection. Mirrors SaslClientAuthenticator.SaslState.

A connection begins with ApiVersions; a re-authentication begins with the handshake, as the versions are known.
INTERMEDIATE: the mechanism awaits a message. CLIENT_COMPLETE: it awaits nothing more, the broker's verdict is missing.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SASL_STATES", "SaslEvent", "SaslState"]


class SaslState(Enum):
    """See the module."""

    INITIAL = auto()
    RECEIVE_APIVERSIONS_RESPONSE = auto()
    RECEIVE_HANDSHAKE_RESPONSE = auto()
    INTERMEDIATE = auto()
    CLIENT_COMPLETE = auto()
    COMPLETE = auto()
    FAILED = auto()


class SaslEvent(Enum):
    """The events of an exchange."""

    VERSIONS_REQUESTED = auto()
    HANDSHAKE_SENT = auto()
    MESSAGE_SENT = auto()
    LAST_MESSAGE_SENT = auto()
    ACCEPTED = auto()
    REFUSED = auto()


_S = SaslState
_E = SaslEvent

_TRANSITIONS: Final[Mapping[tuple[SaslState, SaslEvent], SaslState]] = {
    (_S.INITIAL, _E.VERSIONS_REQUESTED): _S.RECEIVE_APIVERSIONS_RESPONSE,
    (_S.INITIAL, _E.HANDSHAKE_SENT): _S.RECEIVE_HANDSHAKE_RESPONSE,
    (_S.RECEIVE_APIVERSIONS_RESPONSE, _E.HANDSHAKE_SENT): _S.RECEIVE_HANDSHAKE_RESPONSE,
    (_S.RECEIVE_APIVERSIONS_RESPONSE, _E.REFUSED): _S.FAILED,
    (_S.RECEIVE_HANDSHAKE_RESPONSE, _E.MESSAGE_SENT): _S.INTERMEDIATE,
    (_S.RECEIVE_HANDSHAKE_RESPONSE, _E.LAST_MESSAGE_SENT): _S.CLIENT_COMPLETE,
    (_S.RECEIVE_HANDSHAKE_RESPONSE, _E.REFUSED): _S.FAILED,
    (_S.INTERMEDIATE, _E.MESSAGE_SENT): _S.INTERMEDIATE,
    (_S.INTERMEDIATE, _E.LAST_MESSAGE_SENT): _S.CLIENT_COMPLETE,
    (_S.INTERMEDIATE, _E.ACCEPTED): _S.COMPLETE,
    (_S.INTERMEDIATE, _E.REFUSED): _S.FAILED,
    (_S.CLIENT_COMPLETE, _E.ACCEPTED): _S.COMPLETE,
    (_S.CLIENT_COMPLETE, _E.REFUSED): _S.FAILED,
}

SASL_STATES: Final = StateTable("SaslState", _TRANSITIONS)
