"""The login of a client: from `sasl.mechanism` and `sasl.jaas.config` to the exchanges of its connections.

Mirrors LoginManager with PlainLoginModule, ScramLoginModule and OAuthBearerLoginModule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_client.core.network.sasl.mechanisms import OAuthBearerSaslClient, PlainSaslClient, ScramSaslClient
from broker_client.core.network.sasl.unsecured_tokens import RefreshConfig, UnsecuredToken, UnsecuredTokens
from broker_client.errors import ConfigError
from protocol_specs.sasl.jaas import LOGIN_MODULES, OAUTHBEARER, PLAIN, JaasError, login_module
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from broker_client.core.network.sasl.mechanisms import SaslClient

__all__ = ["Login", "login_of"]


class Login(Protocol):
    """The credentials of one client."""

    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""

    def sasl_client(self, now_ms: int, random: Random) -> SaslClient:
        """Begin an exchange; `random` draws what it needs."""


class PlainLogin:
    """User and password."""

    mechanism = PLAIN

    def __init__(self, options: Mapping[str, str]) -> None:
        self._user = _needed(options, "username")
        self._password = _needed(options, "password")

    def sasl_client(self, now_ms: int, random: Random) -> SaslClient:
        """Begin an exchange."""
        del now_ms, random
        return PlainSaslClient(self._user, self._password)


class ScramLogin:
    """User and password, or with `tokenauth=true` id and HMAC of a delegation token."""

    def __init__(self, mechanism: str, options: Mapping[str, str]) -> None:
        self.mechanism = mechanism
        self._user = _needed(options, "username")
        self._password = _needed(options, "password")
        self._extensions = {"tokenauth": "true"} if options.get("tokenauth", "").lower() == "true" else {}

    def sasl_client(self, now_ms: int, random: Random) -> SaslClient:
        """Begin an exchange."""
        del now_ms
        mechanism = ScramMechanism.of_name(self.mechanism)
        return ScramSaslClient(mechanism, self._user, self._password, self._extensions, random)


class OAuthBearerLogin:
    """Unsecured tokens, replaced before they expire."""

    mechanism = OAUTHBEARER

    def __init__(self, options: Mapping[str, str], refresh: RefreshConfig) -> None:
        self._tokens = UnsecuredTokens(options)
        self._refresh = refresh
        self._token: UnsecuredToken | None = None
        self._refresh_due_ms = 0

    def sasl_client(self, now_ms: int, random: Random) -> SaslClient:
        """Begin an exchange with the current token, or with a new one if that is due."""
        token = self._token
        if token is None or now_ms >= self._refresh_due_ms:
            token = self._token = self._tokens.new_token(now_ms)
            self._refresh_due_ms = self._refresh.due_ms(now_ms, token.expires_ms, random)
        return OAuthBearerSaslClient(token.text, self._tokens.extensions)


def login_of(mechanism: str, jaas_config: str | None, refresh: RefreshConfig) -> Login:
    """Return the login that the configurations of a client describe.

    Raises:
        ConfigError: the mechanism or the login module is not served, or an option is missing or invalid.
    """
    module_name = LOGIN_MODULES.get(mechanism)
    if module_name is None:
        raise ConfigError(f"sasl.mechanism={mechanism!r} is refused: use one of {', '.join(LOGIN_MODULES)}")
    if jaas_config is None:
        raise ConfigError(
            f"sasl.jaas.config is missing: sasl.mechanism={mechanism} needs '{module_name} required ...;'"
        )
    try:
        module = login_module(jaas_config)
    except JaasError as error:
        raise ConfigError(f"sasl.jaas.config: {error}") from None
    if module.name != module_name:
        raise ConfigError(
            f"sasl.jaas.config: the login module {module.name} is refused: "
            f"sasl.mechanism={mechanism} needs {module_name}"
        )
    if mechanism == PlainLogin.mechanism:
        return PlainLogin(module.options)
    if mechanism == OAuthBearerLogin.mechanism:
        return OAuthBearerLogin(module.options, refresh)
    return ScramLogin(mechanism, module.options)


def _needed(options: Mapping[str, str], name: str) -> str:
    if not options.get(name):
        raise ConfigError(f"sasl.jaas.config: the login module needs the option {name}, which is missing or empty")
    return options[name]
