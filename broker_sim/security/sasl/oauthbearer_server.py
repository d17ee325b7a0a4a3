"""OAUTHBEARER on the server's side, with unsecured tokens. Mirrors OAuthBearerSaslServer.

An invalid token has a JSON response without an error code; the client confirms it with one byte and then receives the
error, or it sends another token.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.security.sasl.sasl_server import AuthenticationFailed, InvalidCredentials, UnexpectedToken
from broker_sim.security.sasl.unsecured_token import InvalidToken
from protocol_specs.sasl.oauthbearer import AFTER_ERROR, BearerMessage, UnknownScheme
from protocol_specs.sasl.sasl_names import SaslMessageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.security.sasl.unsecured_token import TokenRules

_OLD_TOKEN: Final = re.compile(r"[-_.a-zA-Z0-9]+")
"""The characters of a token before 3.8."""

__all__ = ["OAuthBearerServer"]


class OAuthBearerServer:
    """One exchange; `now_ms` returns the broker's wall clock."""

    def __init__(self, rules: TokenRules, now_ms: Callable[[], int]) -> None:
        self._rules = rules
        self._now_ms = now_ms
        self._error = ""
        """The JSON of the last token's error; empty if the last message was none or valid."""
        self.name = ""
        self.complete = False
        self.is_token = False
        self.expires_ms: int | None = None

    def evaluate(self, token: bytes) -> bytes:
        """Check a token; return nothing, or its error as JSON.

        Raises:
            AuthenticationFailed: The client has confirmed an error, or requests to be another user.
            InvalidCredentials: The message is malformed.
            UnexpectedToken: The message, or the header of its token, raises an exception in Kafka.
        """
        if token == AFTER_ERROR and self._error:
            raise AuthenticationFailed(self._error)
        self._error = ""
        try:
            message = BearerMessage.decode(token)
        except UnknownScheme as error:
            raise UnexpectedToken(str(error)) from None
        except SaslMessageError as error:
            raise InvalidCredentials(str(error)) from None
        if not self._rules.has_base64 and not _OLD_TOKEN.fullmatch(message.token):
            raise InvalidCredentials("Invalid OAUTHBEARER client first message: invalid 'auth' format")
        try:
            found = self._rules.validated(message.token, self._now_ms())
        except InvalidToken as error:
            status = "invalid_token" if error.scope is None else f'insufficient_scope", "scope":"{error.scope}'
            self._error = f'{{"status":"{status}"}}'
            return self._error.encode()
        except KeyError:
            raise UnexpectedToken("JWS header must have an Algorithm value") from None
        if message.authorization_id not in ("", found.principal):
            raise AuthenticationFailed(
                f"Authentication failed: Client requested an authorization id ({message.authorization_id}) that is "
                f"different from the token's principal name ({found.principal})"
            )
        self.name = found.principal
        self.expires_ms = found.expires_ms
        self.complete = True
        return b""
