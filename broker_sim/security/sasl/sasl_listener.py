"""The SASL settings of one listener: its mechanisms with their login modules, and limits. Mirrors SaslChannelBuilder in
Mode.SERVER.

Settings come from `listener.name.<listener>.<key>`, else from `<key>`. The users of a mechanism come from
`listener.name.<listener>.<mechanism>.sasl.jaas.config`; as in Kafka a plain `sasl.jaas.config` does not count. Kafka
also reads a JAAS file, which the simulator has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.errors import ConfigError
from broker_sim.security.sasl.oauthbearer_server import OAuthBearerServer
from broker_sim.security.sasl.plain_server import PlainServer, plain_users
from broker_sim.security.sasl.scram_server import ScramServer
from broker_sim.security.sasl.unsecured_token import TokenRules
from protocol_specs.java_hash import hash_order_of_set
from protocol_specs.sasl.jaas import LOGIN_MODULES, OAUTHBEARER, PLAIN, JaasError, login_module
from protocol_specs.sasl.scram import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.security.delegation_token import TokenLogin
    from broker_sim.security.sasl.sasl_server import SaslServer
    from protocol_specs.sasl.scram import ScramCredential

    CredentialOf = Callable[[str, ScramMechanism], ScramCredential | None]
    TokenLoginOf = Callable[[str, ScramMechanism], TokenLogin | None]

__all__ = ["SaslListener"]

ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
JWKS: Final = "sasl.oauthbearer.jwks.endpoint.url"
MAX_REAUTH: Final = "connections.max.reauth.ms"
MAX_RECEIVE: Final = "sasl.server.max.receive.size"
FAILURE_DELAY: Final = "connection.failed.authentication.delay.ms"
CALLBACK_HANDLER: Final = "sasl.server.callback.handler.class"

_log = Logger()


class SaslListener:
    """One listener's settings; they stay as they are: a running broker cannot change them (KIP-226)."""

    def __init__(
        self,
        listener: str,
        config: BrokerConfig,
        *,
        credential_of: CredentialOf,
        token_login: TokenLoginOf,
        random: Random,
        now_ms: Callable[[], int],
    ) -> None:
        """Read the settings.

        Raises:
            ConfigError: A mechanism is not served, or its JAAS configuration is missing or invalid.
        """
        self._credential_of = credential_of
        self._token_login = token_login
        self._random = random
        self.now_ms = now_ms
        """Returns the broker's wall clock, in milliseconds since the epoch."""
        self._config = config
        self._listener = listener
        self.lifetimes_are_exact = config.behaviour.sasl_lifetimes_are_exact
        self.first_refusals_wait = config.behaviour.sasl_first_refusals_wait
        self.mechanisms = tuple(hash_order_of_set(self._enabled()))
        """The enabled mechanisms, in the order of the responses."""
        self._options = {name: self._options_of(name) for name in self.mechanisms}
        self._users = plain_users(self._options.get(PLAIN, {}))
        self._token_rules = self._rules_of_tokens()
        self._max_reauth_ms = {name: self._mechanism_limit_ms(name) for name in self.mechanisms}
        self.max_receive_bytes = _integer(config.for_listener(MAX_RECEIVE, listener))
        self.failure_delay_ms = _integer(config[FAILURE_DELAY])

    def server_of(self, mechanism: str) -> SaslServer:
        """Return the server's side of a new exchange of an enabled mechanism."""
        if mechanism == PLAIN:
            return PlainServer(self._users)
        if mechanism == OAUTHBEARER:
            return OAuthBearerServer(self._token_rules, self.now_ms)
        return ScramServer(ScramMechanism.of_name(mechanism), self._credential_of, self._token_login, self._random)

    def max_reauth_ms(self, mechanism: str) -> int:
        """Return the longest lifetime of a session of an enabled mechanism, in milliseconds; 0 for no limit."""
        return self._max_reauth_ms[mechanism]

    def _enabled(self) -> list[str]:
        given = self._config.for_listener(ENABLED, self._listener)
        assert isinstance(given, list)
        if not given:
            raise ConfigError(f"{ENABLED}: listener {self._listener} has no mechanism")
        for mechanism in given:
            if mechanism not in LOGIN_MODULES:
                raise ConfigError(
                    f"{ENABLED}={','.join(given)}: listener {self._listener} cannot have {mechanism}, which the "
                    f"simulator does not serve: expected {', '.join(LOGIN_MODULES)}"
                )
        return list(dict.fromkeys(given))

    def _options_of(self, mechanism: str) -> Mapping[str, str]:
        name = f"listener.name.{self._listener.lower()}.{mechanism.lower()}.{JAAS}"
        handler = f"listener.name.{self._listener.lower()}.{mechanism.lower()}.{CALLBACK_HANDLER}"
        if self._config.values.get(handler) is not None:
            raise ConfigError(f"{handler}={self._config.values[handler]}: the simulator has no callback handlers")
        text = self._config.static.get(name)
        if text is None:
            if JAAS in self._config.static:
                _log.warn(
                    "Server config {name} should be prefixed with SASL mechanism name, ignoring config", name=JAAS
                )
            raise ConfigError(
                f"Could not find a 'KafkaServer' or '{self._listener.lower()}.KafkaServer' entry in the JAAS "
                "configuration. System property 'java.security.auth.login.config' is not set "
                f"(set {name} for the mechanism {mechanism})"
            )
        try:
            module = login_module(text)
        except JaasError as error:
            raise ConfigError(f"{name}: {error}") from None
        if module.name != LOGIN_MODULES[mechanism]:
            raise ConfigError(
                f"{name}: the simulator has no login module {module.name} for {mechanism}: expected "
                f"{LOGIN_MODULES[mechanism]}"
            )
        return module.options

    def _rules_of_tokens(self) -> TokenRules:
        if OAUTHBEARER in self.mechanisms and self._config.values.get(JWKS) is not None:
            raise ConfigError(f"{JWKS}={self._config.values[JWKS]}: the simulator validates no signatures of tokens")
        try:
            return TokenRules.of(
                self._options.get(OAUTHBEARER, {}),
                url_safe=self._config.behaviour.sasl_tokens_are_url_safe,
                has_base64=self._config.behaviour.sasl_tokens_have_base64,
            )
        except ConfigError as error:
            raise ConfigError(f"listener {self._listener}: {error}") from None

    def _mechanism_limit_ms(self, mechanism: str) -> int:
        own = f"listener.name.{self._listener.lower()}.{mechanism.lower()}.{MAX_REAUTH}"
        if own in self._config.values:
            return _integer(self._config.values[own])
        return _integer(self._config.for_listener(MAX_REAUTH, self._listener))


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value
