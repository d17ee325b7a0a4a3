"""SCRAM credentials at a broker in ZooKeeper mode (KIP-554). Mirrors ZkAdminManager.

Unlike a KRaft controller it alters several mechanisms of a user in one request. Results are in the order of Scala's
collections: invalid users, users altered twice, unknown credentials, altered users. A description is in the order of
the request, that of all users sorted.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from typing import TYPE_CHECKING, Final

from broker_sim.config.api_error import ApiError
from broker_sim.security.scram_requests import (
    ALTERED_TWICE,
    EMPTY_USER,
    UNKNOWN_CREDENTIAL,
    Alteration,
    alteration_error,
    alteration_result,
    change_of,
    described,
    described_twice,
    undescribed,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import immutable_set_order, string_hash
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from protocol_specs.sasl.scram import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.security.scram_image import ScramChange, ScramImage

__all__ = ["alter_scram_credentials", "credential_of_text", "credential_text", "describe_scram_credentials"]

ALTERED: Final = ApiError(ErrorCode.NONE, "")
NO_KEY: Final = ApiError(
    ErrorCode.UNKNOWN_SERVER_ERROR, "The server experienced an unexpected error when processing the request."
)
"""The error of an empty salted password: Java makes no HMAC with an empty key."""


def alter_scram_credentials(
    request: AlterUserScramCredentialsRequest, image: ScramImage
) -> tuple[AlterUserScramCredentialsResponse, list[ScramChange]]:
    """Return the response and the changes of the users that are valid."""
    invalid = {each.name: error for each in request.deletions if (error := alteration_error(each)) is not None}
    invalid |= {each.name: error for each in request.upsertions if (error := alteration_error(each)) is not None}
    results = [alteration_result(user, invalid[user]) for user in _in_set_order(invalid)]
    valid: list[Alteration] = [
        each for kind in (request.upsertions, request.deletions) for each in kind if each.name not in invalid
    ]
    counts = Counter((each.name, each.mechanism) for each in valid)
    twice = dict.fromkeys(user for (user, _), count in counts.items() if count > 1)
    results += [alteration_result(user, ALTERED_TWICE) for user in _in_set_order(twice)]
    valid = [each for each in valid if each.name not in twice]
    missing = dict.fromkeys(
        each.name
        for each in valid
        if isinstance(each, ScramCredentialDeletion)
        and image.credential(each.name, ScramMechanism(each.mechanism)) is None
    )
    results += [alteration_result(user, UNKNOWN_CREDENTIAL) for user in _in_set_order(missing)]
    users = list(dict.fromkeys(each.name for each in valid))
    altered = [user for user in _in_set_order(users, was=len(users)) if user not in missing]
    valid = [each for each in valid if each.name not in missing]
    if any(isinstance(each, ScramCredentialUpsertion) and not bytes(each.salted_password) for each in valid):
        # Each user's turn makes the keys of all users: one that cannot be made fails them all.
        results += [alteration_result(user, NO_KEY) for user in altered]
        return AlterUserScramCredentialsResponse(results=results), []
    results += [alteration_result(user, ALTERED) for user in altered]
    return AlterUserScramCredentialsResponse(results=results), [change_of(each) for each in valid]


def describe_scram_credentials(
    request: DescribeUserScramCredentialsRequest, image: ScramImage
) -> DescribeUserScramCredentialsResponse:
    """Describe the users of the request; without any, all that have a credential."""
    if not request.users:
        users = sorted(image.users(), key=lambda user: user.encode("utf-16-be", "surrogatepass"))
        return DescribeUserScramCredentialsResponse(
            error_message="", results=[described(user, image) for user in users]
        )
    counts = Counter(each.name for each in request.users)
    results = []
    for user, count in counts.items():
        if not user:
            results.append(undescribed(user, ErrorCode.RESOURCE_NOT_FOUND, EMPTY_USER.message))
        elif count > 1:
            results.append(described_twice(user))
        else:
            results.append(described(user, image))
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


def _in_set_order(users: Iterable[str], *, was: int = 0) -> list[str]:
    given = list(users)
    return [given[place] for place in immutable_set_order(map(string_hash, given), was=was)]
