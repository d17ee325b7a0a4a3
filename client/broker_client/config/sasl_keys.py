"""Authentication of this client. From SaslConfigs."""

from __future__ import annotations

from functools import partial
from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["SASL_KEYS"]

_KERBEROS: Final = "GSSAPI is not supported; use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
_CLASSES: Final = "Java classes are not supported; the default class is used"
_PROVIDERS: Final = "token providers are not supported; OAUTHBEARER has the unsecured tokens of sasl.jaas.config"
_T = ValueType
_I = Importance
_kerberos: Final = partial(ConfigKey, status=KeyStatus.REFUSED, note=_KERBEROS)
_class: Final = partial(ConfigKey, status=KeyStatus.REFUSED, note=_CLASSES)
_provider: Final = partial(ConfigKey, status=KeyStatus.REFUSED, note=_PROVIDERS)

SASL_KEYS: Final = (
    _kerberos(
        name="sasl.kerberos.service.name",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Kerberos name of the brokers' service.",
    ),
    _kerberos(
        name="sasl.kerberos.kinit.cmd",
        type=_T.STRING,
        importance=_I.LOW,
        default="/usr/bin/kinit",
        doc="Path of kinit.",
    ),
    _kerberos(
        name="sasl.kerberos.ticket.renew.window.factor",
        type=_T.DOUBLE,
        importance=_I.LOW,
        default=0.8,
        doc="Fraction of a ticket's lifetime after which it is renewed.",
    ),
    _kerberos(
        name="sasl.kerberos.ticket.renew.jitter",
        type=_T.DOUBLE,
        importance=_I.LOW,
        default=0.05,
        doc="Random fraction added to the renewal time.",
    ),
    _kerberos(
        name="sasl.kerberos.min.time.before.relogin",
        type=_T.LONG,
        importance=_I.LOW,
        default=60000,
        doc="Milliseconds between two login attempts.",
    ),
    ConfigKey(
        name="sasl.login.refresh.window.factor",
        type=_T.DOUBLE,
        importance=_I.LOW,
        default=0.8,
        minimum=0.5,
        maximum=1.0,
        doc="Fraction of a credential's lifetime after which it is refreshed.",
    ),
    ConfigKey(
        name="sasl.login.refresh.window.jitter",
        type=_T.DOUBLE,
        importance=_I.LOW,
        default=0.05,
        minimum=0.0,
        maximum=0.25,
        doc="Random fraction added to the refresh time.",
    ),
    ConfigKey(
        name="sasl.login.refresh.min.period.seconds",
        type=_T.SHORT,
        importance=_I.LOW,
        default=60,
        minimum=0,
        maximum=900,
        doc="Minimum seconds between two refreshes.",
    ),
    ConfigKey(
        name="sasl.login.refresh.buffer.seconds",
        type=_T.SHORT,
        importance=_I.LOW,
        default=300,
        minimum=0,
        maximum=3600,
        doc="Seconds before expiry by which a credential is refreshed.",
    ),
    ConfigKey(
        name="sasl.mechanism",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="GSSAPI",
        doc="SASL mechanism of this client: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.",
    ),
    ConfigKey(
        name="sasl.jaas.config",
        type=_T.PASSWORD,
        importance=_I.MEDIUM,
        doc='Login module and its options, in the format of JAAS: `<class> required username="..." password="...";`.',
    ),
    _class(
        name="sasl.client.callback.handler.class",
        type=_T.CLASS,
        importance=_I.MEDIUM,
        doc="Callback handler class for the SASL client.",
    ),
    _class(
        name="sasl.login.callback.handler.class",
        type=_T.CLASS,
        importance=_I.MEDIUM,
        doc="Callback handler class for the login.",
    ),
    _class(
        name="sasl.login.class",
        type=_T.CLASS,
        importance=_I.MEDIUM,
        doc="Login class.",
    ),
    _provider(
        name="sasl.login.connect.timeout.ms",
        type=_T.INT,
        importance=_I.LOW,
        doc="Time limit for a connection to the token provider.",
    ),
    _provider(
        name="sasl.login.read.timeout.ms",
        type=_T.INT,
        importance=_I.LOW,
        doc="Time limit for a response of the token provider.",
    ),
    _provider(
        name="sasl.login.retry.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=10000,
        doc="Longest pause between attempts to retrieve a token.",
    ),
    _provider(
        name="sasl.login.retry.backoff.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=100,
        doc="Pause between attempts to retrieve a token.",
    ),
    _provider(
        name="sasl.oauthbearer.jwt.retriever.class",
        type=_T.CLASS,
        importance=_I.MEDIUM,
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        doc="Class that retrieves tokens.",
    ),
    _provider(
        name="sasl.oauthbearer.jwt.validator.class",
        type=_T.CLASS,
        importance=_I.MEDIUM,
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        doc="Class that validates tokens.",
    ),
    _provider(
        name="sasl.oauthbearer.scope",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Scope requested from the token provider.",
    ),
    _provider(
        name="sasl.oauthbearer.client.credentials.client.id",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Client id for the token provider.",
    ),
    _provider(
        name="sasl.oauthbearer.client.credentials.client.secret",
        type=_T.PASSWORD,
        importance=_I.MEDIUM,
        doc="Client secret for the token provider.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.algorithm",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="RS256",
        one_of=("ES256", "RS256"),
        ignore_case=True,
        doc="Algorithm that signs the assertion.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.claim.aud",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Audience that the assertion names.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.claim.exp.seconds",
        type=_T.INT,
        importance=_I.LOW,
        default=300,
        minimum=0,
        maximum=86400,
        doc="Seconds that the assertion is valid.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.claim.iss",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Issuer that the assertion names.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.claim.jti.include",
        type=_T.BOOLEAN,
        importance=_I.MEDIUM,
        default=False,
        doc="Include an id in the assertion.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.claim.nbf.seconds",
        type=_T.INT,
        importance=_I.LOW,
        default=60,
        minimum=0,
        maximum=3600,
        doc="Seconds in the past from which the assertion is valid.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.claim.sub",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Subject that the assertion names.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.file",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="File of a complete assertion.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.private.key.file",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="File of the key that signs the assertion.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.private.key.passphrase",
        type=_T.PASSWORD,
        importance=_I.MEDIUM,
        doc="Password of that key.",
    ),
    _provider(
        name="sasl.oauthbearer.assertion.template.file",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="File with headers and claims of the assertion.",
    ),
    _provider(
        name="sasl.oauthbearer.scope.claim.name",
        type=_T.STRING,
        importance=_I.LOW,
        default="scope",
        doc="Claim that holds the scope.",
    ),
    _provider(
        name="sasl.oauthbearer.sub.claim.name",
        type=_T.STRING,
        importance=_I.LOW,
        default="sub",
        doc="Claim that holds the subject.",
    ),
    _provider(
        name="sasl.oauthbearer.token.endpoint.url",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Address of the token provider.",
    ),
    _provider(
        name="sasl.oauthbearer.jwks.endpoint.url",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Address of the keys that validate tokens.",
    ),
    _provider(
        name="sasl.oauthbearer.jwks.endpoint.refresh.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=3600000,
        doc="Age at which those keys are refreshed.",
    ),
    _provider(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=10000,
        doc="Longest pause between attempts to retrieve those keys.",
    ),
    _provider(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=100,
        doc="Pause between attempts to retrieve those keys.",
    ),
    _provider(
        name="sasl.oauthbearer.clock.skew.seconds",
        type=_T.INT,
        importance=_I.LOW,
        default=30,
        doc="Seconds by which the clocks may differ.",
    ),
    _provider(
        name="sasl.oauthbearer.expected.audience",
        type=_T.LIST,
        importance=_I.HIGH,
        default=(),
        doc="Audiences that a token is accepted for.",
    ),
    _provider(
        name="sasl.oauthbearer.expected.issuer",
        type=_T.STRING,
        importance=_I.HIGH,
        doc="Issuer that a token must have.",
    ),
    _provider(
        name="sasl.oauthbearer.header.urlencode",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=False,
        doc="URL-encode client id and secret for the token provider.",
    ),
)
