"""The checks and results that the APIs of SCRAM credentials share in KRaft and in ZooKeeper mode (KIP-554).

Mirrors what ScramControlManager and ScramImage have in common with ZkAdminManager; the order of checks between the
users of one request, and that of results, belong to each mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.config.api_error import ApiError
from broker_sim.security.scram_image import ScramChange
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.describe_user_scram_credentials import CredentialInfo, DescribeUserScramCredentialsResult
from protocol_specs.sasl.scram import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism

if TYPE_CHECKING:
    from broker_sim.security.scram_image import ScramImage

__all__ = [
    "ALTERED_TWICE",
    "EMPTY_USER",
    "UNKNOWN_CREDENTIAL",
    "Alteration",
    "alteration_error",
    "alteration_result",
    "change_of",
    "described",
    "described_twice",
    "undescribed",
]

Alteration: TypeAlias = ScramCredentialDeletion | ScramCredentialUpsertion

EMPTY_USER: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
UNKNOWN_MECHANISM: Final = ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
TOO_FEW_ITERATIONS: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
TOO_MANY_ITERATIONS: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
UNKNOWN_CREDENTIAL: Final = ApiError(
    ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
)
ALTERED_TWICE: Final = ApiError(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)


def alteration_error(alteration: Alteration) -> ApiError | None:
    """Return the error of an alteration by itself; None if its fields are valid."""
    if not alteration.name:
        return EMPTY_USER
    if ScramMechanism(alteration.mechanism) is ScramMechanism.UNKNOWN:
        return UNKNOWN_MECHANISM
    if isinstance(alteration, ScramCredentialDeletion):
        return None
    if alteration.iterations < ITERATIONS_MIN:
        return TOO_FEW_ITERATIONS
    return TOO_MANY_ITERATIONS if alteration.iterations > ITERATIONS_MAX else None


def alteration_result(user: str, error: ApiError) -> AlterUserScramCredentialsResult:
    """Return the result of a user."""
    return AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message)


def change_of(alteration: Alteration) -> ScramChange:
    """Return the change of a valid alteration, with the keys of its salted password."""
    mechanism = ScramMechanism(alteration.mechanism)
    if isinstance(alteration, ScramCredentialDeletion):
        return ScramChange(alteration.name, mechanism, None)
    key, salt = bytes(alteration.salted_password), bytes(alteration.salt)
    return ScramChange(alteration.name, mechanism, mechanism.credential(key, salt, alteration.iterations))


def described(user: str, image: ScramImage) -> DescribeUserScramCredentialsResult:
    """Return the mechanisms and iterations of a user, or the error of one without credentials."""
    found = image.of_user(user)
    if not found:
        text = f"Attempt to describe a user credential that does not exist: {user}"
        return undescribed(user, ErrorCode.RESOURCE_NOT_FOUND, text)
    infos = [CredentialInfo(mechanism=mechanism, iterations=each.iterations) for mechanism, each in found.items()]
    return DescribeUserScramCredentialsResult(user=user, error_message="", credential_infos=infos)


def described_twice(user: str) -> DescribeUserScramCredentialsResult:
    """Return the error of a user whom a request names more than once."""
    text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    return undescribed(user, ErrorCode.DUPLICATE_RESOURCE, text)


def undescribed(user: str, error_code: ErrorCode, text: str | None) -> DescribeUserScramCredentialsResult:
    """Return the error of a user."""
    return DescribeUserScramCredentialsResult(user=user, error_code=error_code, error_message=text)
