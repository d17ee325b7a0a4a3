"""The parts that messages of several mechanisms share: escaped names, and their errors."""

from __future__ import annotations

from typing import Final

from protocol_specs.errors import ProtocolError

__all__ = ["SASL_NAME", "SaslMessageError", "text_of", "user_name", "written_name"]

SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
"""A regular expression: a name in which `,` and `=` are escaped."""


class SaslMessageError(ProtocolError):
    """A message of a SASL mechanism is invalid; the text is Kafka's."""


def text_of(message: bytes) -> str:
    """Decode UTF-8 as Java does: what is invalid becomes U+FFFD."""
    return message.decode("utf-8", errors="replace")


def written_name(user: str) -> str:
    """Escape a user's name for a message. Mirrors ScramFormatter.saslName."""
    return user.replace("=", "=3D").replace(",", "=2C")


def user_name(written: str) -> str:
    """Return the name that a message has escaped. Mirrors ScramFormatter.username.

    Raises:
        SaslMessageError: A `=` begins neither `=2C` nor `=3D`.
    """
    name = written.replace("=2C", ",")
    if "=" in name.replace("=3D", ""):
        raise SaslMessageError(f"Invalid username: {written}")
    return name.replace("=3D", "=")
