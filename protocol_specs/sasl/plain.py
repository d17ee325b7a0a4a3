"""The message of PLAIN (RFC 4616): authorization id, user and password. Mirrors PlainSaslServer, PlainSaslClient."""

from __future__ import annotations

from typing import NamedTuple

from protocol_specs.sasl.sasl_names import SaslMessageError, text_of

__all__ = ["PlainMessage"]

_TOKENS = 3


class PlainMessage(NamedTuple):
    """The message of a client; without an authorization id that is empty."""

    authorization_id: str
    user: str
    password: str

    def encode(self) -> bytes:
        """Return the message."""
        return "\0".join(self).encode()

    @classmethod
    def decode(cls, message: bytes) -> PlainMessage:
        """Read a message; its parts may be empty.

        Raises:
            SaslMessageError: It has not three parts.
        """
        parts = text_of(message).split("\0", _TOKENS)
        if len(parts) != _TOKENS:
            raise SaslMessageError(f"Invalid SASL/PLAIN response: expected {_TOKENS} tokens, got {len(parts)}")
        return cls(*parts)
