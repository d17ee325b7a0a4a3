"""PLAIN on the server's side. Mirrors PlainSaslServer and PlainServerCallbackHandler."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from broker_sim.security.sasl.sasl_server import AuthenticationFailed
from protocol_specs.sasl.plain import PlainMessage
from protocol_specs.sasl.sasl_names import SaslMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PlainServer", "plain_users"]

_USER_PREFIX: Final = "user_"
_FAILED: Final = "Authentication failed: "


def plain_users(options: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords by user that the options of a PlainLoginModule define: `user_<name>="<password>"`."""
    return {
        name.removeprefix(_USER_PREFIX): password for name, password in options.items() if name.startswith(_USER_PREFIX)
    }


class PlainServer:
    """One exchange; `users` are the passwords by user."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.name = ""
        self.complete = False
        self.is_token = False
        self.expires_ms: int | None = None

    def evaluate(self, token: bytes) -> bytes:
        """Check the user and the password of the only token.

        Raises:
            AuthenticationFailed: The token is malformed, or its credentials are invalid.
        """
        try:
            authorization_id, user, password = PlainMessage.decode(token)
        except SaslMessageError as error:
            raise AuthenticationFailed(str(error)) from None
        if not user:
            raise AuthenticationFailed(f"{_FAILED}username not specified")
        if not password:
            raise AuthenticationFailed(f"{_FAILED}password not specified")
        expected = self._users.get(user)
        if expected is None or not hmac.compare_digest(expected.encode(), password.encode()):
            raise AuthenticationFailed(f"{_FAILED}Invalid username or password")
        if authorization_id not in ("", user):
            raise AuthenticationFailed(f"{_FAILED}Client requested an authorization id that is different from username")
        self.name = user
        self.complete = True
        return b""
