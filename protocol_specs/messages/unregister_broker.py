"""UnregisterBroker (api key 64): remove the registration of a broker.

Mirrors UnregisterBrokerRequest and UnregisterBrokerResponse; KIP-631.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Int16, Int32, String
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.UNREGISTER_BROKER, versions="0", flexible="0+")
class UnregisterBrokerRequest(Message):
    """The request: remove the registration of a broker."""

    broker_id: int = field(Int32, entity="brokerId")


@message(api_key=ApiKey.UNREGISTER_BROKER, versions="0", flexible="0+")
class UnregisterBrokerResponse(Message):
    """The response: one error code."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
