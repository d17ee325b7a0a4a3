"""SCRAM credentials at a broker in ZooKeeper mode (KIP-554). Mirrors ZkAdminManager.

Unlike a KRaft controller it alters several mechanisms of a user in one request. Results are in the order of Scala's
collections: invalid users, users altered twice, unknown credentials, altered users. A description is in the order of
the request, that of all users sorted.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.security.scram_image import ScramChange
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import immutable_set_order, string_hash
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from protocol_specs.sasl.scram import ITERATIONS_MAX, ITERATIONS_MIN, ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.security.scram_image import ScramImage

__all__ = ["alter_scram_credentials", "credential_of_text", "credential_text", "describe_scram_credentials"]

_Alteration: TypeAlias = ScramCredentialDeletion | ScramCredentialUpsertion

EMPTY_USER: Final = "Username must not be empty"
UNKNOWN_MECHANISM: Final = "Unknown SCRAM mechanism"
ALTERED_TWICE: Final = "A user credential cannot be altered twice in the same request"
UNKNOWN_CREDENTIAL: Final = "Attempt to delete a user credential that does not exist"
NO_KEY: Final = "The server experienced an unexpected error when processing the request."


def alter_scram_credentials(
    request: AlterUserScramCredentialsRequest, image: ScramImage
) -> tuple[AlterUserScramCredentialsResponse, list[ScramChange]]:
    """Return the response and the changes of the users that are valid."""
    invalid = {each.name: text for each in request.deletions if (text := _refusal(each)) is not None}
    invalid |= {each.name: text for each in request.upsertions if (text := _refusal(each)) is not None}
    results = [
        _result(
            user,
            ErrorCode.UNSUPPORTED_SASL_MECHANISM
            if invalid[user] == UNKNOWN_MECHANISM
            else ErrorCode.UNACCEPTABLE_CREDENTIAL,
            invalid[user],
        )
        for user in _in_set_order(invalid)
    ]
    valid: list[_Alteration] = [
        each for kind in (request.upsertions, request.deletions) for each in kind if each.name not in invalid
    ]
    counts = Counter((each.name, each.mechanism) for each in valid)
    twice = dict.fromkeys(user for (user, _), count in counts.items() if count > 1)
    results += [_result(user, ErrorCode.DUPLICATE_RESOURCE, ALTERED_TWICE) for user in _in_set_order(twice)]
    valid = [each for each in valid if each.name not in twice]
    missing = dict.fromkeys(
        each.name
        for each in valid
        if isinstance(each, ScramCredentialDeletion)
        and image.credential(each.name, ScramMechanism(each.mechanism)) is None
    )
    results += [_result(user, ErrorCode.RESOURCE_NOT_FOUND, UNKNOWN_CREDENTIAL) for user in _in_set_order(missing)]
    users = list(dict.fromkeys(each.name for each in valid))
    altered = [user for user in _in_set_order(users, was=len(users)) if user not in missing]
    valid = [each for each in valid if each.name not in missing]
    if any(isinstance(each, ScramCredentialUpsertion) and not bytes(each.salted_password) for each in valid):
        # Each user's turn makes the keys of all users: one that cannot be made fails them all.
        results += [_result(user, ErrorCode.UNKNOWN_SERVER_ERROR, NO_KEY) for user in altered]
        return AlterUserScramCredentialsResponse(results=results), []
    results += [_result(user, ErrorCode.NONE, "") for user in altered]
    return AlterUserScramCredentialsResponse(results=results), [_change(each) for each in valid]


def describe_scram_credentials(
    request: DescribeUserScramCredentialsRequest, image: ScramImage
) -> DescribeUserScramCredentialsResponse:
    """Describe the users of the request; without any, all that have a credential."""
    if not request.users:
        users = sorted(image.users(), key=lambda user: user.encode("utf-16-be", "surrogatepass"))
        return DescribeUserScramCredentialsResponse(
            error_message="", results=[_described(user, image) for user in users]
        )
    counts = Counter(each.name for each in request.users)
    results = []
    for user, count in counts.items():
        if not user:
            results.append(_undescribed(user, ErrorCode.RESOURCE_NOT_FOUND, EMPTY_USER))
        elif count > 1:
            text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
            results.append(_undescribed(user, ErrorCode.DUPLICATE_RESOURCE, text))
        else:
            results.append(_described(user, image))
    return DescribeUserScramCredentialsResponse(error_message="", results=results)


def credential_text(credential: ScramCredential) -> str:
    """Return a credential as znodes have it. Mirrors ScramCredentialUtils.credentialToString."""
    salt, stored_key, server_key = (b64encode(each).decode() for each in credential[:3])
    return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={credential.iterations}"


def credential_of_text(text: str) -> ScramCredential:
    """Return the credential of such a text.

    Raises:
        ValueError: It is none.
        KeyError: A part is missing.
    """
    parts = dict(each.split("=", 1) for each in text.split(","))
    salt, stored_key, server_key = (b64decode(parts[name]) for name in ("salt", "stored_key", "server_key"))
    return ScramCredential(salt, stored_key, server_key, int(parts["iterations"]))


def _refusal(alteration: _Alteration) -> str | None:
    if not alteration.name:
        return EMPTY_USER
    if ScramMechanism(alteration.mechanism) is ScramMechanism.UNKNOWN:
        return UNKNOWN_MECHANISM
    if isinstance(alteration, ScramCredentialDeletion):
        return None
    if alteration.iterations > ITERATIONS_MAX:
        return "Too many iterations"
    return "Too few iterations" if alteration.iterations < ITERATIONS_MIN else None


def _change(alteration: _Alteration) -> ScramChange:
    mechanism = ScramMechanism(alteration.mechanism)
    if isinstance(alteration, ScramCredentialDeletion):
        return ScramChange(alteration.name, mechanism, None)
    key, salt = bytes(alteration.salted_password), bytes(alteration.salt)
    return ScramChange(alteration.name, mechanism, mechanism.credential(key, salt, alteration.iterations))


def _described(user: str, image: ScramImage) -> DescribeUserScramCredentialsResult:
    found = image.of_user(user)
    if not found:
        text = f"Attempt to describe a user credential that does not exist: {user}"
        return _undescribed(user, ErrorCode.RESOURCE_NOT_FOUND, text)
    infos = [CredentialInfo(mechanism=mechanism, iterations=each.iterations) for mechanism, each in found.items()]
    return DescribeUserScramCredentialsResult(user=user, error_message="", credential_infos=infos)


def _undescribed(user: str, error_code: ErrorCode, text: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=user, error_code=error_code, error_message=text)


def _result(user: str, error_code: ErrorCode, text: str) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(user=user, error_code=error_code, error_message=text)


def _in_set_order(users: Iterable[str], *, was: int = 0) -> list[str]:
    given = list(users)
    return [given[place] for place in immutable_set_order(map(string_hash, given), was=was)]
