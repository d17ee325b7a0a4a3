"""The authentication of one connection of a SASL listener, and the time until which it is valid (KIP-368)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.sasl.authenticator import SaslServerAuthenticator, SaslStep
    from protocol_specs.message import Message

__all__ = ["SaslSession"]


@dataclass(slots=True, kw_only=True)
class SaslSession:
    """The authentication of one connection, and the end of its validity."""

    authenticator: SaslServerAuthenticator
    expires_us: int | None = None
    """The time from which on only a re-authentication is served; None for no limit."""
    reauthentication_us: int | None = None
    """The begin of the last re-authentication."""
    failure: SaslStep | None = None
    failed_request: RequestContext | None = None
    """The request with which the authentication has failed: the connection is closed after its response."""
    failed_response: Message | None = None
    """The response to that request, which is sent after the delay."""
    delay: IDelayedCall | None = None
    """The delay of the response and the close of a failed authentication."""
