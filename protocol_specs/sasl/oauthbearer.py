"""The first message of OAUTHBEARER (RFC 7628). Mirrors OAuthBearerClientInitialResponse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from protocol_specs.sasl.sasl_names import SASL_NAME, SaslMessageError, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AFTER_ERROR", "BearerMessage", "UnknownScheme"]

AFTER_ERROR: Final = b"\x01"
"""The message of a client that has received an error: the server closes the exchange."""
_SEPARATOR: Final = "\x01"
_KEY: Final = re.compile(r"[A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7E \t\r\n]+")
_MESSAGE: Final = re.compile(
    f"n,(?:a=(?P<authzid>{SASL_NAME}))?,{_SEPARATOR}"
    f"(?P<pairs>(?:{_KEY.pattern}={_VALUE.pattern}{_SEPARATOR})*){_SEPARATOR}"
)
_AUTHORIZATION: Final = re.compile(r"(?P<scheme>\w+)[ ]+(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_INVALID: Final = "Invalid OAUTHBEARER client first message"


class UnknownScheme(SaslMessageError):
    """The scheme of the authorization is not `Bearer`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerMessage:
    """The message of a client: its token, and extensions by name."""

    token: str
    authorization_id: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the message."""
        authzid = f"a={self.authorization_id}" if self.authorization_id else ""
        pairs = [f"auth=Bearer {self.token}", *(f"{key}={text}" for key, text in self.extensions.items())]
        return f"n,{authzid},{_SEPARATOR}{_SEPARATOR.join(pairs)}{_SEPARATOR}{_SEPARATOR}".encode()

    @classmethod
    def decode(cls, message: bytes) -> BearerMessage:
        """Read a message.

        Raises:
            SaslMessageError: It is none, or an extension is invalid.
            UnknownScheme: Its authorization is not a bearer token. Kafka fails while it makes the text of that error.
        """
        found = _MESSAGE.fullmatch(text_of(message))
        if found is None:
            raise SaslMessageError(_INVALID)
        pairs = dict(pair.split("=", 1) for pair in found["pairs"].split(_SEPARATOR)[:-1])
        authorization = pairs.pop("auth", None)
        if authorization is None:
            raise SaslMessageError(f"{_INVALID}: 'auth' not specified")
        parts = _AUTHORIZATION.fullmatch(authorization)
        if parts is None:
            raise SaslMessageError(f"{_INVALID}: invalid 'auth' format")
        if parts["scheme"].lower() != "bearer":
            raise UnknownScheme(f"Invalid scheme in OAUTHBEARER client first message: {parts['scheme']}")
        return cls(token=parts["token"], authorization_id=found["authzid"] or "", extensions=pairs)
