"""One exchange of a SASL mechanism on the server's side. Mirrors javax.security.sasl.SaslServer."""

from __future__ import annotations

from typing import Protocol

from broker_sim.errors import BrokerSimError

__all__ = ["AuthenticationFailed", "InvalidCredentials", "SaslServer", "UnexpectedToken"]


class AuthenticationFailed(BrokerSimError):
    """The exchange has failed; the client receives the text. Mirrors SaslAuthenticationException."""


class InvalidCredentials(BrokerSimError):
    """The exchange has failed; the client receives only a general text. Mirrors SaslException."""


class UnexpectedToken(BrokerSimError):
    """A token by which Kafka's mechanism raises another exception: the connection is closed without a response."""


class SaslServer(Protocol):
    """The exchange of one connection, from its first token to its completion."""

    name: str
    """The authenticated user; empty before the exchange is complete."""
    complete: bool
    is_token: bool
    """The credential is a delegation token (KIP-48)."""
    expires_ms: int | None
    """The end of the credential's validity, in milliseconds since the epoch; None without one."""

    def evaluate(self, token: bytes) -> bytes:
        """Return the response to a client's token.

        Raises:
            AuthenticationFailed: The exchange has failed, with a text for the client.
            InvalidCredentials: The exchange has failed, with a text for the log alone.
            UnexpectedToken: The connection must be closed.
        """
