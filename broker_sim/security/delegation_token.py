"""Delegation tokens (KIP-48): their facts, HMACs and SCRAM credentials. Mirrors TokenInformation and DelegationToken.

A client logs in by SCRAM with the id of a token as its name and the base64 of its HMAC as its password. The HMAC
follows from the id and from `delegation.token.secret.key`, so that the metadata holds no secret.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.sasl.scram import ITERATIONS_MIN, ScramCredential, ScramMechanism, new_nonce

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from protocol_specs.error_codes import ErrorCode

__all__ = [
    "CHECK_INTERVAL",
    "EXPIRY_TIME",
    "MAX_LIFETIME",
    "USER_TYPE",
    "DelegationToken",
    "TokenCredentials",
    "TokenLogin",
    "TokenRefused",
    "hmac_of",
    "principal_parts",
    "secret_of",
    "token_of_hmac",
]

CHECK_INTERVAL: Final = "delegation.token.expiry.check.interval.ms"
EXPIRY_TIME: Final = "delegation.token.expiry.time.ms"
MAX_LIFETIME: Final = "delegation.token.max.lifetime.ms"
USER_TYPE: Final = "User"
_SECRETS: Final = ("delegation.token.secret.key", "delegation.token.master.key")
"""The names of the secret; 4.0 removed the second, which is older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationToken:
    """One token; principals are texts such as `User:ann`, times are milliseconds since the epoch."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    """The end of its life, which no renewal exceeds."""
    expires_ms: int

    def is_expired(self, now_ms: int) -> bool:
        """Return True if it can no longer be renewed."""
        return self.max_ms < now_ms or self.expires_ms < now_ms

    def may_be_changed_by(self, principal: str) -> bool:
        """Return True for the owner and the renewers."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: str) -> bool:
        """Return True for the owner, the renewers and the requester."""
        return principal == self.requester or self.may_be_changed_by(principal)


class TokenRefused(Exception):
    """A request about tokens is refused with an error code."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code.name)
        self.error_code = error_code


def secret_of(config: BrokerConfig) -> str:
    """Return the secret from which HMACs follow; empty where delegation tokens are disabled."""
    found = next((each for name in _SECRETS if (each := config.values.get(name)) is not None), "")
    return str(found)


def hmac_of(token_id: str, secret: str) -> bytes:
    """Return the HMAC (SHA-512) of a token, 64 bytes."""
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


def token_of_hmac(tokens: Iterable[DelegationToken], secret: str, digest: bytes) -> DelegationToken | None:
    """Return the token with an HMAC; None without one."""
    return next((token for token in tokens if hmac_of(token.token_id, secret) == digest), None)


def principal_parts(principal: str) -> tuple[str, str]:
    """Return type and name of a principal."""
    kind, _, name = principal.partition(":")
    return kind, name


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """A known token at a login: the name of its owner, its expiry and its credential."""

    owner: str
    expires_ms: int
    credential: ScramCredential


class TokenCredentials:
    """The credentials of tokens at one node, made at the first login. Mirrors DelegationTokenCache."""

    def __init__(self, random: Random) -> None:
        """`random` draws the salts."""
        self._random = random
        self._made: dict[tuple[str, str, ScramMechanism], ScramCredential] = {}

    def login(self, token: DelegationToken, secret: str, mechanism: ScramMechanism) -> TokenLogin:
        """Return the facts that a login with a token needs."""
        key = token.token_id, secret, mechanism
        credential = self._made.get(key)
        if credential is None:
            password = base64.b64encode(hmac_of(token.token_id, secret))
            salt = new_nonce(self._random).encode()
            salted = mechanism.salted_password(password, salt, ITERATIONS_MIN)
            credential = self._made[key] = mechanism.credential(salted, salt, ITERATIONS_MIN)
        return TokenLogin(principal_parts(token.owner)[1], token.expires_ms, credential)
