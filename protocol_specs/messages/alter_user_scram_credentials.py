"""AlterUserScramCredentials (api key 51): set or delete SCRAM credentials of users.

Mirrors AlterUserScramCredentialsRequest and AlterUserScramCredentialsResponse; KIP-554.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bytes, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ScramCredentialDeletion(Struct):
    """A user and mechanism whose credential is deleted."""

    name: str = field(String)
    mechanism: int = field(Int8)


@struct
class ScramCredentialUpsertion(Struct):
    """A credential to create or to replace: salt, iterations and salted password."""

    name: str = field(String)
    mechanism: int = field(Int8)
    iterations: int = field(Int32)
    salt: bytes = field(Bytes)
    salted_password: bytes = field(Bytes)


@message(api_key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest(Message):
    """The request: set or delete SCRAM credentials of users."""

    deletions: list[ScramCredentialDeletion] = field(Array(ScramCredentialDeletion))
    upsertions: list[ScramCredentialUpsertion] = field(Array(ScramCredentialUpsertion))


@struct
class AlterUserScramCredentialsResult(Struct):
    """The result of one user."""

    user: str = field(String)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")


@message(api_key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse(Message):
    """The response: one result per user."""

    throttle_time_ms: int = field(Int32)
    results: list[AlterUserScramCredentialsResult] = field(Array(AlterUserScramCredentialsResult))
