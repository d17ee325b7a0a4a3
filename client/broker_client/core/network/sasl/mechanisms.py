"""The clients of the mechanisms: challenge in, message out.

Mirrors PlainClient, ScramSaslClient and OAuthBearerSaslClient.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Protocol

from protocol_specs.sasl.oauthbearer import AFTER_ERROR, BearerMessage
from protocol_specs.sasl.plain import PlainMessage
from protocol_specs.sasl.sasl_names import SaslMessageError, written_name
from protocol_specs.sasl.scram import ITERATIONS_MIN, ScramMechanism, new_nonce
from protocol_specs.sasl.scram_messages import ClientFinal, ClientFirst, ServerFinal, ServerFirst, exchanged_by

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

__all__ = ["OAuthBearerSaslClient", "PlainSaslClient", "SaslClient", "ScramSaslClient"]


class SaslClient(Protocol):
    """One exchange. Mirrors javax.security.sasl.SaslClient."""

    @property
    def is_complete(self) -> bool:
        """True if the mechanism awaits nothing more."""

    def initial_message(self) -> bytes:
        """Return the first message."""

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the message that follows a server's message; None if none does.

        Raises:
            SaslMessageError: the server's message is invalid, or proves nothing.
        """


class PlainSaslClient:
    """User and password in one message (RFC 4616)."""

    is_complete = False

    def __init__(self, user: str, password: str) -> None:
        self._message = PlainMessage("", user, password)

    def initial_message(self) -> bytes:
        """Return the only message."""
        self.is_complete = True
        return self._message.encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Return None: no message follows."""
        del challenge
        return None


class ScramSaslClient:
    """SCRAM (RFC 5802); with `extensions` such as `tokenauth=true`, a login by a delegation token (KIP-48)."""

    is_complete = False

    def __init__(
        self, mechanism: ScramMechanism, user: str, password: str, extensions: Mapping[str, str], random: Random
    ) -> None:
        """`random` draws the nonce."""
        self._mechanism = mechanism
        self._password = password
        self._first = ClientFirst(name=written_name(user), nonce=new_nonce(random), extensions=extensions)
        self._salted_password = b""
        self._exchanged = b""

    def initial_message(self) -> bytes:
        """Return the name and the nonce."""
        return self._first.encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the proof; None behind the server's signature.

        Raises:
            SaslMessageError: the nonce or the signature is wrong, or the server requests too few iterations.
        """
        if self.is_complete:
            raise SaslMessageError("unexpected message of the server after its signature")
        if self._exchanged:
            self._check_signature(ServerFinal.decode(challenge))
            return None
        server = ServerFirst.decode(challenge)
        name = self._mechanism.sasl_name
        if not server.nonce.startswith(self._first.nonce):
            raise SaslMessageError("Invalid server nonce: does not start with client nonce")
        if server.iterations < ITERATIONS_MIN:
            raise SaslMessageError(
                f"Requested iterations {server.iterations} is less than the minimum {ITERATIONS_MIN} for {name}"
            )
        salted = self._salted_password = self._mechanism.salted_password(self._password, server.salt, server.iterations)
        final = ClientFinal(channel_binding=self._first.header, nonce=server.nonce)
        exchanged = self._exchanged = exchanged_by(self._first, server, final)
        proof = self._mechanism.client_proof(salted, exchanged)
        return ClientFinal(channel_binding=final.channel_binding, nonce=final.nonce, proof=proof).encode()

    def _check_signature(self, final: ServerFinal) -> None:
        if final.error is not None:
            raise SaslMessageError(
                f"Sasl authentication using {self._mechanism.sasl_name} failed with error: {final.error}"
            )
        server_key = self._mechanism.hmac(self._salted_password, b"Server Key")
        if not hmac.compare_digest(final.signature, self._mechanism.hmac(server_key, self._exchanged)):
            raise SaslMessageError("Invalid server signature in server final message")
        self.is_complete = True


class OAuthBearerSaslClient:
    """A bearer token (RFC 7628); an error of the server is confirmed, and the server then refuses."""

    is_complete = False

    def __init__(self, token: str, extensions: Mapping[str, str]) -> None:
        self._message = BearerMessage(token=token, extensions=extensions)
        self._has_error = False

    def initial_message(self) -> bytes:
        """Return the token."""
        return self._message.encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Return None behind an empty message, and the confirmation of an error behind another.

        Raises:
            SaslMessageError: the server goes on after its error.
        """
        if self._has_error or self.is_complete:
            raise SaslMessageError(f"unexpected message of the server: {challenge!r}")
        if challenge:
            self._has_error = True
            return AFTER_ERROR
        self.is_complete = True
        return None
