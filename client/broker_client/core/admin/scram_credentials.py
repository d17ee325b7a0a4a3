"""SCRAM credentials of users: describe and alter. Mirrors KafkaAdminClient's calls; KIP-554.

Brokers never get a password: the client sends the key that it salts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_client.admin_errors import ItemsFailed
from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import ANY, CONTROLLER
from broker_client.errors import ProducerError, error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from protocol_specs.sasl.scram import ScramMechanism, new_nonce

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse

__all__ = [
    "ScramCalls",
    "ScramCredentialInfo",
    "ScramMechanism",
    "UserScramCredentialAlteration",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]

DEFAULT_ITERATIONS: Final = 4096


@dataclass(slots=True, frozen=True)
class ScramCredentialInfo:
    """The mechanism of a credential and its number of iterations. Mirrors ScramCredentialInfo."""

    mechanism: ScramMechanism
    iterations: int = DEFAULT_ITERATIONS


@dataclass(slots=True, kw_only=True, frozen=True)
class UserScramCredentialUpsertion:
    """A user's password for one mechanism, new or replaced; without a `salt`, one is drawn."""

    user: str
    credential_info: ScramCredentialInfo
    password: str | bytes
    salt: bytes | None = None

    def __repr__(self) -> str:
        return f"UserScramCredentialUpsertion(user={self.user!r}, credential_info={self.credential_info!r})"


@dataclass(slots=True, kw_only=True, frozen=True)
class UserScramCredentialDeletion:
    """A user's credential for one mechanism, which is deleted."""

    user: str
    mechanism: ScramMechanism


UserScramCredentialAlteration: TypeAlias = UserScramCredentialUpsertion | UserScramCredentialDeletion


class ScramCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_user_scram_credentials(
        self, users: Sequence[str] | None = None
    ) -> dict[str, list[ScramCredentialInfo]]:
        """Mechanisms and iterations by user; of all users that have a credential, or of these. Raises ItemsFailed."""
        names = [UserName(name=user) for user in users] if users else None
        response: DescribeUserScramCredentialsResponse = await self._calls.request(
            DescribeUserScramCredentialsRequest,
            lambda *_: DescribeUserScramCredentialsRequest(users=names),
            route=ANY,
            error=lambda response: (response.error_code, response.error_message),
        )
        outcomes: Outcomes[str, list[ScramCredentialInfo]] = Outcomes([each.user for each in response.results])
        for result in response.results:
            infos = [
                ScramCredentialInfo(ScramMechanism(each.mechanism), each.iterations) for each in result.credential_infos
            ]
            outcomes.take(result.user, result.error_code, result.error_message, infos)
        return outcomes.result()

    async def alter_user_scram_credentials(self, alterations: Sequence[UserScramCredentialAlteration]) -> None:
        """Set and delete credentials, one per user. Raises ItemsFailed by user."""
        invalid: dict[str, ProducerError] = {}
        for each in alterations:
            error = _error(each)
            if error is not None:
                invalid[each.user] = error
        random = self._calls.core.random
        valid = [_written(each, random) for each in alterations if each.user not in invalid]

        def build(version: int, requested: list[str], timeout_ms: int) -> AlterUserScramCredentialsRequest:
            del version, timeout_ms
            return AlterUserScramCredentialsRequest(
                deletions=[
                    each for each in valid if isinstance(each, ScramCredentialDeletion) and each.name in requested
                ],
                upsertions=[
                    each for each in valid if isinstance(each, ScramCredentialUpsertion) and each.name in requested
                ],
            )

        def take(response: Any, _: list[str], outcomes: Outcomes[str, None]) -> None:
            for result in response.results:
                outcomes.take(
                    result.user, result.error_code, result.error_message, None, retried=[ErrorCode.NOT_CONTROLLER]
                )

        call = ItemCall(kind=AlterUserScramCredentialsRequest, route=CONTROLLER, build=build, take=take)
        outcomes = await self._calls.outcomes(
            list(dict.fromkeys(each.name for each in valid)), call, self._calls.deadline_ms()
        )
        if invalid:
            raise ItemsFailed({**outcomes.errors, **invalid}, outcomes.done)
        outcomes.result()


def _error(alteration: UserScramCredentialAlteration) -> ProducerError | None:
    if not alteration.user:
        return error_of(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if isinstance(alteration, UserScramCredentialUpsertion):
        if not alteration.password:
            return error_of(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must not be empty")
        mechanism = alteration.credential_info.mechanism
    else:
        mechanism = alteration.mechanism
    if mechanism is ScramMechanism.UNKNOWN:
        return error_of(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return None


def _written(
    alteration: UserScramCredentialAlteration, random: Random
) -> ScramCredentialDeletion | ScramCredentialUpsertion:
    if isinstance(alteration, UserScramCredentialDeletion):
        return ScramCredentialDeletion(name=alteration.user, mechanism=alteration.mechanism)
    mechanism, iterations = alteration.credential_info.mechanism, alteration.credential_info.iterations
    salt = new_nonce(random).encode() if alteration.salt is None else alteration.salt
    return ScramCredentialUpsertion(
        name=alteration.user,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=mechanism.salted_password(alteration.password, salt, iterations),
    )
