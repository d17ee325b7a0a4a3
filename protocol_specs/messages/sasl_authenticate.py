"""SaslAuthenticate (api key 36): one step of a SASL exchange.

Mirrors SaslAuthenticateRequest and SaslAuthenticateResponse; KIP-152, KIP-368.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Bytes, Int16, Int64, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.SASL_AUTHENTICATE, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Message):
    """The request: one step of a SASL exchange."""

    auth_bytes: bytes = field(Bytes)


@message(api_key=ApiKey.SASL_AUTHENTICATE, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(Message):
    """The response: the challenge of the server, and the lifetime of the session."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    auth_bytes: bytes = field(Bytes)
    session_lifetime_ms: int = field(Int64, versions="1+", ignorable=True)
