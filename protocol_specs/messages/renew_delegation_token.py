"""RenewDelegationToken (api key 39): extend the expiry time of a delegation token.

Mirrors RenewDelegationTokenRequest and RenewDelegationTokenResponse; KIP-48.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Bytes, Int16, Int32, Int64
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.RENEW_DELEGATION_TOKEN, versions="0-2", flexible="2+")
class RenewDelegationTokenRequest(Message):
    """The request: extend the expiry time of a delegation token."""

    hmac: bytes = field(Bytes)
    renew_period_ms: int = field(Int64)


@message(api_key=ApiKey.RENEW_DELEGATION_TOKEN, versions="0-2", flexible="2+")
class RenewDelegationTokenResponse(Message):
    """The response: the new expiry time."""

    error_code: int = field(Int16)
    expiry_timestamp_ms: int = field(Int64)
    throttle_time_ms: int = field(Int32)
