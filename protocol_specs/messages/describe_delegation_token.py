"""DescribeDelegationToken (api key 41): list the delegation tokens of owners.

Mirrors DescribeDelegationTokenRequest and DescribeDelegationTokenResponse; KIP-48, KIP-373.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bytes, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DescribeDelegationTokenOwner(Struct):
    """An owner whose tokens are requested."""

    principal_type: str = field(String)
    principal_name: str = field(String)


@message(api_key=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest(Message):
    """The request: list the delegation tokens of owners."""

    owners: list[DescribeDelegationTokenOwner] | None = field(Array(DescribeDelegationTokenOwner), nullable="0+")


@struct
class DescribedDelegationTokenRenewer(Struct):
    """A principal that may renew the token besides its owner."""

    principal_type: str = field(String)
    principal_name: str = field(String)


@struct
class DescribedDelegationToken(Struct):
    """One token with its owner, requester, times and HMAC."""

    principal_type: str = field(String)
    principal_name: str = field(String)
    token_requester_principal_type: str = field(String, versions="3+")
    token_requester_principal_name: str = field(String, versions="3+")
    issue_timestamp: int = field(Int64)
    expiry_timestamp: int = field(Int64)
    max_timestamp: int = field(Int64)
    token_id: str = field(String)
    hmac: bytes = field(Bytes)
    renewers: list[DescribedDelegationTokenRenewer] = field(Array(DescribedDelegationTokenRenewer))


@message(api_key=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse(Message):
    """The response: the tokens of the owners."""

    error_code: int = field(Int16)
    tokens: list[DescribedDelegationToken] = field(Array(DescribedDelegationToken))
    throttle_time_ms: int = field(Int32)
