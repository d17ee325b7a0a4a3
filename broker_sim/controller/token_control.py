"""Delegation tokens at the controller: check and commit. Mirrors DelegationTokenControlManager (KIP-48, KIP-900)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.controller.topics import random_topic_id
from broker_sim.metadata.metadata_record_versions import record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION
from broker_sim.security.delegation_token import (
    EXPIRY_TIME,
    MAX_LIFETIME,
    USER_TYPE,
    DelegationToken,
    TokenRefused,
    hmac_of,
    principal_parts,
    secret_of,
    token_of_hmac,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.uuids import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller

__all__ = ["TokenControl"]

INT64_MAX: Final = 2**63 - 1
_log = Logger()


class TokenControl:
    """Creates, renews and removes tokens; `requester` is the client's principal, periods are milliseconds."""

    __slots__ = ("_controller", "_expiry_ms", "_has_end", "_lifetime_ms", "_random", "_secret")

    def __init__(self, controller: Controller, *, config: BrokerConfig, random: Random) -> None:
        """`random` draws the ids."""
        self._controller = controller
        self._random = random
        self._secret = secret_of(config)
        self._lifetime_ms = _milliseconds(config, MAX_LIFETIME)
        self._expiry_ms = _milliseconds(config, EXPIRY_TIME)
        self._has_end = config.behaviour.token_times_have_an_end

    def create(self, owner: str, requester: str, renewers: Iterable[str], lifetime_ms: int) -> DelegationToken:
        """Create a token that lives `lifetime_ms`, or as long as it may if that is not above 0.

        Raises:
            TokenRefused: Tokens are disabled or not supported, or a renewer is no user.
        """
        self._check_enabled()
        now_ms = self._controller.now_ms()
        max_ms = self._sum(now_ms, min(self._lifetime_ms, lifetime_ms) if lifetime_ms > 0 else self._lifetime_ms)
        token_id = to_text(random_topic_id(self._random))
        named = tuple(renewers)
        if any(principal_parts(each)[0] != USER_TYPE for each in named):
            raise TokenRefused(ErrorCode.INVALID_PRINCIPAL_TYPE)
        token = DelegationToken(
            token_id=token_id,
            owner=owner,
            requester=requester,
            renewers=named,
            issued_ms=now_ms,
            max_ms=max_ms,
            expires_ms=min(max_ms, self._sum(now_ms, self._expiry_ms)),
        )
        self._put("CreateDelegationToken", token)
        return token

    def renew(self, hmac: bytes, requester: str, period_ms: int) -> int:
        """Extend the life of a token by `period_ms`; return its new expiry time.

        Raises:
            TokenRefused: The token is unknown, has expired, or belongs to others.
        """
        self._check_enabled()
        token = self._found(hmac)
        now_ms = self._controller.now_ms()
        self._check_renewal(token, requester, now_ms)
        expires_ms = min(token.max_ms, now_ms + self._renewal_ms(period_ms))
        self._put("RenewDelegationToken", replace(token, expires_ms=expires_ms))
        return expires_ms

    def expire(self, hmac: bytes, requester: str, period_ms: int) -> int:
        """Let a token expire after `period_ms`, or remove it at once if that is negative; return its expiry time.

        Raises:
            TokenRefused: The token is unknown, has expired, or belongs to others.
        """
        self._check_enabled()
        token = self._found(hmac)
        now_ms = self._controller.now_ms()
        self._check_owner(token, requester)
        if period_ms < 0:
            self._remove("ExpireDelegationToken", [token])
            return now_ms
        self._check_alive(token, now_ms)
        expires_ms = min(token.max_ms, self._sum(now_ms, period_ms))
        self._put("ExpireDelegationToken", replace(token, expires_ms=expires_ms))
        return expires_ms

    def remove_expired(self) -> None:
        """Remove the tokens that have expired."""
        if not self._is_supported():
            return
        now_ms = self._controller.now_ms()
        expired = [token for token in self._controller.image.tokens.values() if token.is_expired(now_ms)]
        for token in expired:
            _log.info(
                "Delegation token expired for token: {token_id} for owner: {owner}",
                token_id=token.token_id,
                owner=token.owner,
            )
        if expired:
            self._remove("expired delegation tokens", expired)

    def hmac_of(self, token: DelegationToken) -> bytes:
        """Return the HMAC of a token, 64 bytes."""
        return hmac_of(token.token_id, self._secret)

    # Checks.

    def _check_enabled(self) -> None:
        if not self._secret:
            raise TokenRefused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if not self._is_supported():
            raise TokenRefused(ErrorCode.UNSUPPORTED_VERSION)

    def _is_supported(self) -> bool:
        return record_versions(self._controller.image.finalized_features.get(METADATA_VERSION, 0)).has_tokens

    def _found(self, hmac: bytes) -> DelegationToken:
        token = token_of_hmac(self._controller.image.tokens.values(), self._secret, hmac)
        if token is None:
            raise TokenRefused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return token

    def _check_renewal(self, token: DelegationToken, requester: str, now_ms: int) -> None:
        self._check_alive(token, now_ms)
        self._check_owner(token, requester)

    def _check_alive(self, token: DelegationToken, now_ms: int) -> None:
        if token.is_expired(now_ms):
            raise TokenRefused(ErrorCode.DELEGATION_TOKEN_EXPIRED)

    def _check_owner(self, token: DelegationToken, requester: str) -> None:
        if not token.may_be_changed_by(requester):
            raise TokenRefused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)

    def _renewal_ms(self, period_ms: int) -> int:
        return min(self._expiry_ms, period_ms) if period_ms > 0 else self._expiry_ms

    def _sum(self, now_ms: int, duration_ms: int) -> int:
        """Add as Java does: up to the largest number, or around it."""
        total = now_ms + duration_ms
        if total <= INT64_MAX:
            return total
        return INT64_MAX if self._has_end else total - 2 * (INT64_MAX + 1)

    # Changes.

    def _put(self, reason: str, token: DelegationToken) -> None:
        self._controller.change(reason, lambda image: replace(image, tokens={**image.tokens, token.token_id: token}))

    def _remove(self, reason: str, tokens: Iterable[DelegationToken]) -> None:
        gone = {token.token_id for token in tokens}
        self._controller.change(
            reason,
            lambda image: replace(
                image, tokens={token_id: token for token_id, token in image.tokens.items() if token_id not in gone}
            ),
        )


def _milliseconds(config: BrokerConfig, name: str) -> int:
    value = config.values.get(name, 0)  # 0 before 1.1, which has no tokens
    assert isinstance(value, int)
    return value
