"""AlterUserScramCredentials at the controller: check, commit, respond. Mirrors ScramControlManager (KIP-900).

A request alters each user once, for one mechanism. The response has one result per user, in the order of Kafka's
tables: deletions, upsertions, errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.config.api_error import ApiError
from broker_sim.metadata.metadata_record_versions import record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION
from broker_sim.security.scram_requests import (
    ALTERED_TWICE,
    UNKNOWN_CREDENTIAL,
    Alteration,
    alteration_error,
    alteration_result,
    change_of,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from broker_sim.controller.controller import Controller
    from broker_sim.security.scram_image import ScramImage
    from protocol_specs.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest

__all__ = ["ScramControl"]

NO_KEY: Final = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
"""The error of an empty salted password: Java makes no HMAC with an empty key."""


class ScramControl:
    """Serves the AlterUserScramCredentials requests that brokers forward."""

    __slots__ = ("_controller", "_unsupported")

    def __init__(self, controller: Controller, *, names_the_feature: bool) -> None:
        """`names_the_feature`: errors have "metadata.version", as from 3.8 on."""
        self._controller = controller
        feature = "metadata.version" if names_the_feature else "metadata version"
        self._unsupported = ApiError(ErrorCode.UNSUPPORTED_VERSION, f"The current {feature} does not support SCRAM")

    def alter(self, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        """Make the valid alterations and return one result per user."""
        image = self._controller.image
        versions = record_versions(image.finalized_features.get(METADATA_VERSION, 0))
        deletions, upsertions, errors = _checked(
            request, image.scram, None if versions.has_scram else self._unsupported
        )
        results = []
        changes = []
        for each in (*deletions.ordered(), *upsertions.ordered()):
            if isinstance(each, ScramCredentialUpsertion) and not each.salted_password:
                errors[each.name] = NO_KEY
            else:
                changes.append(change_of(each))
                results.append(alteration_result(each.name, ApiError(ErrorCode.NONE)))
        if changes:
            self._controller.change(
                "AlterUserScramCredentials", lambda image: replace(image, scram=image.scram.with_changes(changes))
            )
        results += [alteration_result(user, errors[user]) for user in hash_order(errors)]
        return AlterUserScramCredentialsResponse(results=results)


class _Table:
    """Alterations by user. Like a HashMap it keeps the size that it has grown to when users are removed."""

    __slots__ = ("_by_user", "_most")

    def __init__(self) -> None:
        self._by_user: dict[str, Alteration] = {}
        self._most = 0

    def put(self, alteration: Alteration) -> None:
        self._by_user[alteration.name] = alteration
        self._most = max(self._most, len(self._by_user))

    def remove(self, user: str) -> bool:
        """Return True if the user was there."""
        return self._by_user.pop(user, None) is not None

    def ordered(self) -> list[Alteration]:
        removed = self._most - len(self._by_user)
        return [self._by_user[user] for user in hash_order(self._by_user, beside=removed)]


def _checked(
    request: AlterUserScramCredentialsRequest, credentials: ScramImage, unsupported: ApiError | None
) -> tuple[_Table, _Table, dict[str, ApiError]]:
    """Return the valid deletions and upsertions, and the errors by user; `unsupported` is the error of all users."""
    deletions, upsertions = _Table(), _Table()
    errors: dict[str, ApiError] = {}
    requested: list[Alteration] = [*request.deletions, *request.upsertions]
    for each in requested:
        if each.name in errors:
            continue
        if deletions.remove(each.name) or upsertions.remove(each.name):
            errors[each.name] = ALTERED_TWICE
            continue
        error = unsupported or _error(each, credentials)
        if error is not None:
            errors[each.name] = error
        else:
            (deletions if isinstance(each, ScramCredentialDeletion) else upsertions).put(each)
    return deletions, upsertions, errors


def _error(alteration: Alteration, credentials: ScramImage) -> ApiError | None:
    error = alteration_error(alteration)
    if error is None and isinstance(alteration, ScramCredentialDeletion):
        mechanism = ScramMechanism(alteration.mechanism)
        return UNKNOWN_CREDENTIAL if credentials.credential(alteration.name, mechanism) is None else None
    return error
