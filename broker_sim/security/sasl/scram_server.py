"""SCRAM on the server's side. Mirrors ScramSaslServer.

The client receives no reason of a failure: neither of an unknown user nor of a wrong password. With the extension
`tokenauth=true` the name is the id of a delegation token, and the client becomes its owner (KIP-48).
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

    from broker_sim.security.delegation_token import TokenLogin
    from protocol_specs.sasl.scram import ScramCredential, ScramMechanism

__all__ = ["ScramServer"]

_TOKEN_AUTH: Final = "tokenauth"


class ScramServer:
    """One exchange; `credential_of` and `token_login` return None for an unknown user and an unknown token."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credential_of: Callable[[str, ScramMechanism], ScramCredential | None],
        token_login: Callable[[str, ScramMechanism], TokenLogin | None],
        random: Random,
    ) -> None:
        self._mechanism = mechanism
        self._credential_of = credential_of
        self._token_login = token_login
        self._random = random
        self._begun: tuple[str, ScramCredential, ClientFirst, ServerFirst] | None = None
        self.name = ""
        self.complete = False
        self.is_token = False
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
        name, credential = self._known(user, is_token=first.extensions.get(_TOKEN_AUTH, "").lower() == "true")
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
        self._begun = name, credential, first, response
        return response.encode()

    def _known(self, user: str, *, is_token: bool) -> tuple[str, ScramCredential]:
        """Return the name under which the client acts, and the credential that it has to prove."""
        if not is_token:
            credential = self._credential_of(user, self._mechanism)
            if credential is None:
                raise InvalidCredentials("Authentication failed: Invalid user credentials")
            return user, credential
        login = self._token_login(user, self._mechanism)
        if login is None:
            raise InvalidCredentials(f"Token Authentication failed: Invalid tokenId : {user}")
        self.is_token, self.expires_ms = True, login.expires_ms
        return login.owner, login.credential

    def _final(self, token: bytes) -> bytes:
        assert self._begun is not None
        name, credential, first, response = self._begun
        final = ClientFinal.decode(token)
        if not final.nonce.endswith(response.nonce):
            raise InvalidCredentials("Invalid client nonce in the final client message.")
        if len(final.proof) != len(credential.stored_key):
            raise UnexpectedToken("Argument arrays must be of the same length")
        exchanged = exchanged_by(first, response, final)
        if not self._mechanism.proves(credential, final.proof, exchanged):
            raise InvalidCredentials("Invalid client credentials")
        self.name = name
        self.complete = True
        return ServerFinal(signature=self._mechanism.hmac(credential.server_key, exchanged)).encode()
