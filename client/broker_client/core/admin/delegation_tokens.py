"""Delegation tokens: create, renew, expire, describe. Mirrors KafkaAdminClient's calls; KIP-48, KIP-373.

As in Java, any node serves a request, and no error of a broker is retried.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.admin.routes import ANY
from broker_client.errors import ConfigError, UnsupportedVersion
from protocol_specs.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from protocol_specs.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.core.admin.calls import AdminCalls
    from protocol_specs.message import Message
    from protocol_specs.messages.create_delegation_token import CreateDelegationTokenResponse
    from protocol_specs.messages.describe_delegation_token import (
        DescribedDelegationToken,
        DescribeDelegationTokenResponse,
    )

__all__ = ["BROKERS_PERIOD", "DelegationToken", "DelegationTokenCalls", "TokenInformation"]

BROKERS_PERIOD: Final = -1
"""A lifetime or period that the brokers choose; for an expiry it is the end of the token, now."""
_OWNER_FROM: Final = 3


@dataclass(slots=True, kw_only=True, frozen=True)
class TokenInformation:
    """A token without its HMAC; principals are type and name, such as `User:ann`. Mirrors TokenInformation.

    Brokers before 3.3 name no requester. Times are in milliseconds since 1970.
    """

    token_id: str
    owner: str
    token_requester: str | None
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiry_timestamp_ms: int


@dataclass(slots=True, kw_only=True, frozen=True)
class DelegationToken:
    """A token: its id is the user of a login by SCRAM, `hmac_base64` the password. Mirrors DelegationToken."""

    token_info: TokenInformation
    hmac: bytes = field(repr=False)

    @property
    def hmac_base64(self) -> str:
        """The HMAC as text. Mirrors hmacAsBase64String."""
        return b64encode(self.hmac).decode()


class DelegationTokenCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def create_delegation_token(
        self, *, owner: str | None = None, renewers: Sequence[str] = (), max_lifetime_ms: int = BROKERS_PERIOD
    ) -> DelegationToken:
        """Create a token of the client, or of another owner."""
        owner_type, owner_name = (None, None) if owner is None else _principal(owner, "owner")
        parsed = [_principal(each, "renewers") for each in renewers]

        def build(version: int, timeout_ms: int) -> CreateDelegationTokenRequest:
            del timeout_ms
            if owner is not None and version < _OWNER_FROM:
                raise UnsupportedVersion(
                    f"owner={owner!r} needs CreateDelegationToken v{_OWNER_FROM} (Kafka 3.3), "
                    f"the node speaks v{version}"
                )
            return CreateDelegationTokenRequest(
                owner_principal_type=owner_type,
                owner_principal_name=owner_name,
                renewers=[CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in parsed],
                max_lifetime_ms=max_lifetime_ms,
            )

        response: CreateDelegationTokenResponse = await self._request(CreateDelegationTokenRequest, build)
        information = TokenInformation(
            token_id=response.token_id,
            owner=f"{response.principal_type}:{response.principal_name}",
            token_requester=_requester(response),
            renewers=tuple(renewers),
            issue_timestamp_ms=response.issue_timestamp_ms,
            max_timestamp_ms=response.max_timestamp_ms,
            expiry_timestamp_ms=response.expiry_timestamp_ms,
        )
        return DelegationToken(token_info=information, hmac=response.hmac)

    async def renew_delegation_token(self, hmac: bytes, *, renew_time_period_ms: int = BROKERS_PERIOD) -> int:
        """Extend the life of a token; returns its new expiry time."""
        request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_time_period_ms)
        response = await self._request(RenewDelegationTokenRequest, lambda *_: request)
        return int(response.expiry_timestamp_ms)

    async def expire_delegation_token(self, hmac: bytes, *, expiry_time_period_ms: int = BROKERS_PERIOD) -> int:
        """Set the end of a token; returns its new expiry time."""
        request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_time_period_ms)
        response = await self._request(ExpireDelegationTokenRequest, lambda *_: request)
        return int(response.expiry_timestamp_ms)

    async def describe_delegation_token(self, owners: Sequence[str] | None = None) -> list[DelegationToken]:
        """Tokens that the client may see, of all owners or of these."""
        parsed = None if owners is None else [_principal(each, "owners") for each in owners]
        request = DescribeDelegationTokenRequest(
            owners=None
            if parsed is None
            else [DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, name in parsed]
        )
        response: DescribeDelegationTokenResponse = await self._request(
            DescribeDelegationTokenRequest, lambda *_: request
        )
        return [_described(token) for token in response.tokens]

    async def _request(self, kind: type[Message], build: Callable[[int, int], Message]) -> Any:
        return await self._calls.request(
            kind, build, route=ANY, error=lambda response: (response.error_code, None), retried=()
        )


def _described(token: DescribedDelegationToken) -> DelegationToken:
    information = TokenInformation(
        token_id=token.token_id,
        owner=f"{token.principal_type}:{token.principal_name}",
        token_requester=_requester(token),
        renewers=tuple(f"{each.principal_type}:{each.principal_name}" for each in token.renewers),
        issue_timestamp_ms=token.issue_timestamp,
        max_timestamp_ms=token.max_timestamp,
        expiry_timestamp_ms=token.expiry_timestamp,
    )
    return DelegationToken(token_info=information, hmac=token.hmac)


def _requester(token: CreateDelegationTokenResponse | DescribedDelegationToken) -> str | None:
    if not token.token_requester_principal_name:
        return None
    return f"{token.token_requester_principal_type}:{token.token_requester_principal_name}"


def _principal(text: str, option: str) -> tuple[str, str]:
    """Mirrors SecurityUtils.parseKafkaPrincipal."""
    kind, colon, name = str(text).partition(":")
    if not colon:
        raise ConfigError(f"{option}: expected TYPE:NAME, such as User:ann, not {text!r}")
    return kind, name
