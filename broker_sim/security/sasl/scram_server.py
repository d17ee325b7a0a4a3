"""SCRAM on the server's side. Mirrors ScramSaslServer.

The client receives no reason of a failure: neither of an unknown user nor of a wrong password. Delegation tokens
(`tokenauth=true`) are not served: every token is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.security.sasl.sasl_server import AuthenticationFailed, InvalidCredentials, UnexpectedToken
from protocol_specs.sasl.sasl_names import SaslMessageError, user_name
from protocol_specs.sasl.scram import ITERATIONS_MIN, new_nonce
from protocol_specs.sasl.scram_messages import ClientFinal, ClientFirst, ServerFinal, ServerFirst, exchanged_by

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from protocol_specs.sasl.scram import ScramCredential, ScramMechanism

__all__ = ["ScramServer"]

_TOKEN_AUTH: Final = "tokenauth"


class ScramServer:
    """One exchange; `credential_of` returns the credential of a user, None for an unknown one."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credential_of: Callable[[str, ScramMechanism], ScramCredential | None],
        random: Random,
    ) -> None:
        self._mechanism = mechanism
        self._credential_of = credential_of
        self._random = random
        self._begun: tuple[str, ScramCredential, ClientFirst, ServerFirst] | None = None
        self.name = ""
        self.complete = False
        self.expires_ms: int | None = None

    def evaluate(self, token: bytes) -> bytes:
        """Return the server's first message, then its final one.

        Raises:
            AuthenticationFailed: The client requests to be another user.
            InvalidCredentials: A message is malformed, the user is unknown, or the proof is wrong.
            UnexpectedToken: The proof has another size than the hash.
        """
        try:
            return self._first(ClientFirst.decode(token)) if self._begun is None else self._final(token)
        except SaslMessageError as error:
            raise InvalidCredentials(str(error)) from None

    def _first(self, first: ClientFirst) -> bytes:
        user = user_name(first.name)
        if first.extensions.get(_TOKEN_AUTH, "").lower() == "true":
            raise InvalidCredentials(f"Token Authentication failed: Invalid tokenId : {user}")
        credential = self._credential_of(user, self._mechanism)
        if credential is None:
            raise InvalidCredentials("Authentication failed: Invalid user credentials")
        if first.authorization_id not in ("", user):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < ITERATIONS_MIN:
            raise InvalidCredentials(
                f"Iterations {credential.iterations} is less than the minimum {ITERATIONS_MIN} for "
                f"{self._mechanism.name}"
            )
        response = ServerFirst(
            nonce=first.nonce + new_nonce(self._random), salt=credential.salt, iterations=credential.iterations
        )
        self._begun = user, credential, first, response
        return response.encode()

    def _final(self, token: bytes) -> bytes:
        assert self._begun is not None
        user, credential, first, response = self._begun
        final = ClientFinal.decode(token)
        if not final.nonce.endswith(response.nonce):
            raise InvalidCredentials("Invalid client nonce in the final client message.")
        if len(final.proof) != len(credential.stored_key):
            raise UnexpectedToken("Argument arrays must be of the same length")
        exchanged = exchanged_by(first, response, final)
        if not self._mechanism.proves(credential, final.proof, exchanged):
            raise InvalidCredentials("Invalid client credentials")
        self.name = user
        self.complete = True
        return ServerFinal(signature=self._mechanism.hmac(credential.server_key, exchanged)).encode()
