"""CreateDelegationToken (api key 38): create a delegation token.

Mirrors CreateDelegationTokenRequest and CreateDelegationTokenResponse; KIP-48, KIP-373.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bytes, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class CreatableRenewers(Struct):
    """A principal that may renew the token besides its owner."""

    principal_type: str = field(String)
    principal_name: str = field(String)


@message(api_key=ApiKey.CREATE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class CreateDelegationTokenRequest(Message):
    """The request: create a delegation token."""

    owner_principal_type: str | None = field(String, versions="3+", nullable="3+")
    owner_principal_name: str | None = field(String, versions="3+", nullable="3+")
    renewers: list[CreatableRenewers] = field(Array(CreatableRenewers))
    max_lifetime_ms: int = field(Int64)


@message(api_key=ApiKey.CREATE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class CreateDelegationTokenResponse(Message):
    """The response: the token with its id, HMAC and times."""

    error_code: int = field(Int16)
    principal_type: str = field(String)
    principal_name: str = field(String)
    token_requester_principal_type: str = field(String, versions="3+")
    token_requester_principal_name: str = field(String, versions="3+")
    issue_timestamp_ms: int = field(Int64)
    expiry_timestamp_ms: int = field(Int64)
    max_timestamp_ms: int = field(Int64)
    token_id: str = field(String)
    hmac: bytes = field(Bytes)
    throttle_time_ms: int = field(Int32)
