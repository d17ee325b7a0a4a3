"""SaslHandshake (api key 17): choose a SASL mechanism.

Mirrors SaslHandshakeRequest and SaslHandshakeResponse; KIP-43, KIP-152.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.SASL_HANDSHAKE, versions="0-1")
class SaslHandshakeRequest(Message):
    """The request: choose a SASL mechanism."""

    mechanism: str = field(String)


@message(api_key=ApiKey.SASL_HANDSHAKE, versions="0-1")
class SaslHandshakeResponse(Message):
    """The response: the mechanisms that the broker has enabled."""

    error_code: int = field(Int16)
    mechanisms: list[str] = field(Array(String))
