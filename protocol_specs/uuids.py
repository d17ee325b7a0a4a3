"""Kafka's uuid type as 16 bytes, and its text form: base64url without padding. Mirrors Uuid."""

from __future__ import annotations

import re
from typing import Final

ZERO_UUID: Final = bytes(16)
"""The reserved "no id": Uuid.ZERO_UUID."""

METADATA_TOPIC_UUID: Final = bytes(15) + b"\x01"
"""The reserved id of the metadata log: Uuid.METADATA_TOPIC_ID."""

_TEXT: Final = re.compile("[A-Za-z0-9_-]{22}(?:==)?")
"""What Java's Base64 decoder takes for 16 bytes: bits that are too many are ignored."""


def to_text(value: bytes) -> str:
    """Kafka's text form: 22 characters of base64url."""
    import base64

    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def from_text(text: str) -> bytes:
    """Return the 16 bytes of Kafka's text form. Raises ValueError with the text if it is malformed."""
    import base64

    if _TEXT.fullmatch(text) is None:
        raise ValueError(f"uuid {text!r}: expected 22 characters of base64url (16 bytes)")
    return base64.urlsafe_b64decode(text[:22] + "==")
