"""Envelope (api key 58): a broker forwards a client's request to the controller.

Mirrors EnvelopeRequest and EnvelopeResponse; KIP-590.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Bytes, Int16
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.ENVELOPE, versions="0", flexible="0+")
class EnvelopeRequest(Message):
    """The request: a broker forwards a client's request to the controller."""

    request_data: bytes = field(Bytes)
    request_principal: bytes | None = field(Bytes, nullable="0+")
    client_host_address: bytes = field(Bytes)


@message(api_key=ApiKey.ENVELOPE, versions="0", flexible="0+")
class EnvelopeResponse(Message):
    """The response: the embedded response of the controller."""

    response_data: bytes | None = field(Bytes, nullable="0+", default=None)
    error_code: int = field(Int16)
