"""DescribeUserScramCredentials (api key 50): list the SCRAM credentials of users, without secrets.

Mirrors DescribeUserScramCredentialsRequest and DescribeUserScramCredentialsResponse; KIP-554.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class UserName(Struct):
    """A user whose credentials are requested."""

    name: str = field(String)


@message(api_key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(Message):
    """The request: list the SCRAM credentials of users, without secrets."""

    users: list[UserName] | None = field(Array(UserName), nullable="0+")


@struct
class CredentialInfo(Struct):
    """The mechanism and iterations of one credential."""

    mechanism: int = field(Int8)
    iterations: int = field(Int32)


@struct
class DescribeUserScramCredentialsResult(Struct):
    """The credentials of one user, or an error."""

    user: str = field(String)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    credential_infos: list[CredentialInfo] = field(Array(CredentialInfo))


@message(api_key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(Message):
    """The response: the mechanisms and iterations per user."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field(Array(DescribeUserScramCredentialsResult))
