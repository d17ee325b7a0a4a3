"""Bearer tokens without a signature, made of the options of a login module. For tests and simulations only.

Mirrors OAuthBearerUnsecuredLoginCallbackHandler, and ExpiringCredentialRefreshingLogin for the time of a refresh, which
Kafka leaves to a thread: here the login makes a new token when it is due and a connection needs one.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

__all__ = ["RefreshConfig", "UnsecuredToken", "UnsecuredTokens"]

_PREFIX: Final = "unsecuredLogin"
_STRING: Final = f"{_PREFIX}StringClaim_"
_NUMBER: Final = f"{_PREFIX}NumberClaim_"
_LIST: Final = f"{_PREFIX}ListClaim_"
_EXTENSION: Final = f"{_PREFIX}Extension_"
_RESERVED: Final = ("iat", "exp")
_LIFETIME_S: Final = "3600"
_EXTENSION_KEY: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7E \t\r\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshConfig:
    """sasl.login.refresh.*: when a token is replaced before it expires."""

    window_factor: float = 0.8
    window_jitter: float = 0.05
    min_period_s: int = 60
    buffer_s: int = 300

    def due_ms(self, now_ms: int, expires_ms: int, random: Random) -> int:
        """Return when a token that is made now and expires at `expires_ms` is to be replaced."""
        part = self.window_factor + self.window_jitter * random.random()
        proposed_ms = now_ms + int((expires_ms - now_ms) * part)
        if now_ms + 1000 * (self.min_period_s + self.buffer_s) > expires_ms:
            return proposed_ms
        return max(min(proposed_ms, expires_ms - 1000 * self.buffer_s), now_ms + 1000 * self.min_period_s)


@dataclass(frozen=True, slots=True)
class UnsecuredToken:
    """A token in its compact form, and when it expires by the clock of the client."""

    text: str
    expires_ms: int


class UnsecuredTokens:
    """The tokens of one login.

    Raises:
        ConfigError: the options name no principal, or one of them is invalid.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        if all(name.startswith(_EXTENSION) for name in options):
            raise ConfigError(f"sasl.jaas.config: no token is configured: {_STRING}sub=... is needed")
        self.extensions = {
            name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)
        }
        for name, value in self.extensions.items():
            if name == "auth" or not _EXTENSION_KEY.fullmatch(name) or not _EXTENSION_VALUE.fullmatch(value):
                raise ConfigError(f"sasl.jaas.config: {_EXTENSION}{name}={value!r} is no valid extension")
        lifetime = options.get(f"{_PREFIX}LifetimeSeconds", _LIFETIME_S)
        try:
            self._lifetime_s = int(lifetime)
        except ValueError:
            raise ConfigError(f"sasl.jaas.config: {_PREFIX}LifetimeSeconds={lifetime!r} is no integer") from None
        self._claims = _claims(options)
        principal = options.get(f"{_PREFIX}PrincipalClaimName", "").strip() or "sub"
        if not isinstance(self._claims.get(principal), str) or not self._claims[principal].strip():
            raise ConfigError(f"sasl.jaas.config: {_STRING}{principal} is missing: no principal name in the token")

    def new_token(self, now_ms: int) -> UnsecuredToken:
        """Return a token that is valid from now on."""
        now_s = now_ms / 1000
        claims = {"exp": now_s + self._lifetime_s, "iat": now_s, **self._claims}
        text = f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."
        return UnsecuredToken(text, now_ms + self._lifetime_s * 1000)


def _claims(options: Mapping[str, str]) -> dict[str, Any]:
    claims: dict[str, Any] = {}
    for option, value in options.items():
        for prefix, read in ((_STRING, str), (_NUMBER, float), (_LIST, _listed)):
            name = option.removeprefix(prefix)
            if name in (option, ""):
                continue
            if name in _RESERVED:
                raise ConfigError(f"sasl.jaas.config: {option}: the claim {name!r} cannot be set explicitly")
            try:
                claims[name] = read(value)
            except ValueError:
                raise ConfigError(f"sasl.jaas.config: {option}={value!r} is no number") from None
    return claims


def _listed(value: str) -> list[str]:
    """The elements of a list whose first character separates them: `|a|b`; empty ones end as one at the end."""
    if len(value) <= 1:
        return []
    separator, text = value[0], value[1:]
    elements = text.split(separator)
    while elements and not elements[-1]:
        elements.pop()
    if text.startswith(separator) or text.endswith(separator) or separator * 2 in text:
        elements.append("")
    return elements


def _encoded(part: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).rstrip(b"=").decode()
