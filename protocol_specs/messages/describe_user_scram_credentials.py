"""DescribeUserScramCredentials (api key 50): which SCRAM credentials users have.

Mirrors DescribeUserScramCredentialsRequest and DescribeUserScramCredentialsResponse; KIP-554.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class UserName(Struct):
    """One element of users."""

    name: str = field(String)


@message(api_key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(Message):
    """What a client asks: which SCRAM credentials users have."""

    users: list[UserName] | None = field(Array(UserName), nullable="0+")


@struct
class CredentialInfo(Struct):
    """One element of credential_infos."""

    mechanism: int = field(Int8)
    iterations: int = field(Int32)


@struct
class DescribeUserScramCredentialsResult(Struct):
    """One element of results."""

    user: str = field(String)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    credential_infos: list[CredentialInfo] = field(Array(CredentialInfo))


@message(api_key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(Message):
    """What the broker answers to DescribeUserScramCredentialsRequest."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field(Array(DescribeUserScramCredentialsResult))
