"""Unsecured tokens of OAUTHBEARER: JSON Web Tokens without a signature (RFC 7515, appendix A.5).

Mirrors OAuthBearerUnsecuredJws, OAuthBearerValidationUtils and OAuthBearerUnsecuredValidatorCallbackHandler.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import BrokerSimError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["InvalidToken", "TokenRules", "UnsecuredToken"]

_OPTION: Final = "unsecuredValidator"
_SCOPE_ITEM: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_BASE64_FOR_URLS: Final = re.compile(r"[A-Za-z0-9_-]*={0,2}")
_INT64_MAX: Final = 2**63 - 1
_PARTS: Final = 3
_INT32_MAX: Final = 2**31 - 1


class InvalidToken(BrokerSimError):
    """A token is invalid; `scope` is the required scope that it lacks, None for any other reason."""

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.scope = scope


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsecuredToken:
    """A valid token: its principal, and the end of its validity in milliseconds since the epoch."""

    principal: str
    expires_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """The options of the login module that define which tokens are valid."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scope: tuple[str, ...] = ()
    clock_skew_ms: int = 0
    url_safe: bool = True
    """The parts are in the alphabet for URLs; else they are in plain Base64."""
    has_base64: bool = True
    """Messages may have a token with all characters of Base64."""

    @classmethod
    def of(cls, options: Mapping[str, str], *, url_safe: bool = True, has_base64: bool = True) -> TokenRules:
        """Read the options of an OAuthBearerLoginModule.

        Raises:
            ConfigError: An option is invalid.
        """

        def option(key: str) -> str:
            return options.get(_OPTION + key, "").strip()

        scope = tuple(filter(None, option("RequiredScope").split(" ")))
        for item in scope:
            if not _SCOPE_ITEM.fullmatch(item):
                raise ConfigError(f"{_OPTION}RequiredScope: Invalid scope value: {item}")
        skew = option("AllowableClockSkewMs") or "0"
        if not re.fullmatch(r"[+-]?[0-9]+", skew) or abs(int(skew)) > _INT32_MAX:
            raise ConfigError(f'{_OPTION}AllowableClockSkewMs: For input string: "{skew}"')
        if int(skew) < 0:
            raise ConfigError(f"Allowable clock skew millis must not be negative: {skew}")
        return cls(
            principal_claim=option("PrincipalClaimName") or "sub",
            scope_claim=option("ScopeClaimName") or "scope",
            required_scope=scope,
            clock_skew_ms=int(skew),
            url_safe=url_safe,
            has_base64=has_base64,
        )

    def validated(self, text: str, now_ms: int) -> UnsecuredToken:
        """Read a token and check it.

        Raises:
            InvalidToken: The token is malformed, expired, from the future, or lacks a claim or a scope.
            KeyError: The header has no algorithm: Kafka raises an exception that closes the connection.
        """
        claims = self._claims_of(text)
        scope = self._scope_of(claims)
        expires_s = _number(claims, "exp")
        if expires_s is None:
            raise InvalidToken("No expiration time in JWT")
        principal = claims.get(self.principal_claim)
        if principal is not None and not isinstance(principal, str):
            raise InvalidToken(f"The '{self.principal_claim}' claim was not of type String: {type(principal).__name__}")
        if principal is None or not principal.strip():
            raise InvalidToken(f"No principal name in JWT claim: {self.principal_claim}")
        issued_s = _number(claims, "iat")
        if issued_s is not None and 1000 * issued_s > now_ms + self.clock_skew_ms:
            raise InvalidToken(f"The Issued At value ({issued_s:f} seconds) was after the indicated time ({now_ms} ms)")
        if now_ms - self.clock_skew_ms >= 1000 * expires_s:
            raise InvalidToken(
                f"The indicated time ({now_ms} ms) was on or after the Expiration Time value ({expires_s:f} seconds)"
            )
        if issued_s is not None and expires_s <= issued_s:
            raise InvalidToken(f"The Expiration Time time ({expires_s:f} seconds) was not after the Issued At time")
        for required in self.required_scope:
            if required not in scope:
                all_required = f"[{', '.join(self.required_scope)}]"
                raise InvalidToken(f"The provided scope was missing a required scope ({required})", all_required)
        return UnsecuredToken(principal=principal, expires_ms=_rounded(expires_s * 1000))

    def _claims_of(self, text: str) -> Mapping[str, Any]:
        if ".." in text:
            raise InvalidToken("Malformed compact serialization contains '..'")
        parts = text.rstrip(".").split(".") + [""] * text.endswith(".")
        if len(parts) != _PARTS:
            raise InvalidToken(
                "Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded values"
            )
        header, claims = self._json_of(parts[0]), self._json_of(parts[1])
        if header["alg"] != "none":
            raise InvalidToken("Unsecured JWS must have 'none' for an algorithm")
        if parts[2]:
            raise InvalidToken("Unsecured JWS must not contain a digital signature")
        return claims

    def _json_of(self, part: str) -> Mapping[str, Any]:
        """Decode one part; padding is optional."""
        alphabet = _BASE64_FOR_URLS if self.url_safe else _BASE64
        if not alphabet.fullmatch(part) or len(part.rstrip("=")) % 4 == 1 or (part.endswith("=") and len(part) % 4):
            raise InvalidToken("malformed Base64 URL encoded value")
        padded = part + "=" * (-len(part) % 4)
        try:
            decoded = base64.urlsafe_b64decode(padded) if self.url_safe else base64.b64decode(padded)
            found, _ = json.JSONDecoder().raw_decode(decoded.decode().lstrip())
        except (binascii.Error, ValueError, RecursionError):
            raise InvalidToken("malformed JSON") from None
        return {key: _converted(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def _scope_of(self, claims: Mapping[str, Any]) -> set[str]:
        scope = claims.get(self.scope_claim)
        if scope is None:
            return set()
        if isinstance(scope, str):
            scope = [scope]
        if not isinstance(scope, list):
            raise InvalidToken(f"The '{self.scope_claim}' claim was not of type List: {type(scope).__name__}")
        return {item.strip() for item in scope if item.strip()}


def _converted(value: Any) -> Any:
    """Return a number or a list as it is, any other value as its text. Mirrors JsonNode.asText."""
    if isinstance(value, list):
        return [_text_of(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return _text_of(value)


def _text_of(value: Any) -> str:
    if isinstance(value, dict | list):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise InvalidToken(f"The '{name}' claim was not of type Number: {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _rounded(milliseconds: float) -> int:
    """Round as Math.round does: within 64 bits."""
    return _INT64_MAX if milliseconds >= _INT64_MAX else math.floor(milliseconds + 0.5)
