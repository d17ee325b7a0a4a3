"""Every producer configuration key of Kafka 4.3 as data. Mirrors the ConfigDef of ProducerConfig."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEYS", "ConfigKey", "KeyStatus", "ValueType"]


class KeyStatus(Enum):
    """What becomes of a key here."""

    IMPLEMENTED = "implemented"
    MAPPED = "mapped"
    REFUSED = "refused"


class ValueType(Enum):
    """The types of ConfigDef."""

    BOOLEAN = "boolean"
    CLASS = "class"
    DOUBLE = "double"
    INT = "int"
    LIST = "list"
    LONG = "long"
    PASSWORD = "password"
    SHORT = "short"
    STRING = "string"


@dataclass(slots=True, kw_only=True, frozen=True)
class ConfigKey:
    """One key: `also` are values outside of the range that are taken too; `note` says how it is mapped,

    or why refused.
    """

    name: str
    type: ValueType
    default: object = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    also: tuple[float, ...] = ()
    one_of: tuple[str, ...] = ()
    status: KeyStatus = KeyStatus.IMPLEMENTED
    note: str = ""


_SASL: Final = "SASL is not spoken yet; security.protocol=PLAINTEXT is"
_TLS: Final = "TLS and SASL are not spoken yet; security.protocol=PLAINTEXT is"
_JVM: Final = "it loads classes into a JVM"
_METRICS: Final = "metrics are plain totals here, without sampling windows"
_TRANSACTIONS: Final = "nobody prepares transactions here; transactional.id without it is spoken"
_T = ValueType
_MAPPED = KeyStatus.MAPPED
_REFUSED = KeyStatus.REFUSED

_KEYS: Final = (
    ConfigKey(
        name="acks",
        type=_T.STRING,
        default="all",
        one_of=(
            "all",
            "-1",
            "0",
            "1",
        ),
    ),
    ConfigKey(name="batch.size", type=_T.INT, default=16384, minimum=0),
    ConfigKey(name="bootstrap.servers", type=_T.LIST, required=True),
    ConfigKey(name="buffer.memory", type=_T.LONG, default=33554432, minimum=0),
    ConfigKey(
        name="client.dns.lookup",
        type=_T.STRING,
        default="use_all_dns_ips",
        one_of=(
            "use_all_dns_ips",
            "resolve_canonical_bootstrap_servers_only",
        ),
        status=_REFUSED,
        note="names are resolved by the reactor",
    ),
    ConfigKey(name="client.id", type=_T.STRING, default=""),
    ConfigKey(name="compression.gzip.level", type=_T.INT, default=-1, minimum=1, maximum=9, also=(-1,)),
    ConfigKey(name="compression.lz4.level", type=_T.INT, default=9, minimum=1, maximum=17),
    ConfigKey(
        name="compression.type",
        type=_T.STRING,
        default="none",
        one_of=(
            "none",
            "gzip",
            "snappy",
            "lz4",
            "zstd",
        ),
    ),
    ConfigKey(name="compression.zstd.level", type=_T.INT, default=3, minimum=-131072, maximum=22),
    ConfigKey(name="config.providers", type=_T.LIST, default=(), status=_REFUSED, note=_JVM),
    ConfigKey(name="connections.max.idle.ms", type=_T.LONG, default=540000),
    ConfigKey(name="delivery.timeout.ms", type=_T.INT, default=120000, minimum=0),
    ConfigKey(name="enable.idempotence", type=_T.BOOLEAN, default=True),
    ConfigKey(
        name="enable.metrics.push",
        type=_T.BOOLEAN,
        default=False,
        status=_REFUSED,
        note="client telemetry (KIP-714) is not pushed",
    ),
    ConfigKey(
        name="interceptor.classes",
        type=_T.LIST,
        default=(),
        status=_REFUSED,
        note="wrap send and pass on_delivery instead of an interceptor",
    ),
    ConfigKey(
        name="key.serializer",
        type=_T.CLASS,
        status=_MAPPED,
        note="a callable that answers bytes or None; without one keys are bytes",
    ),
    ConfigKey(name="linger.ms", type=_T.LONG, default=5, minimum=0),
    ConfigKey(name="max.block.ms", type=_T.LONG, default=60000, minimum=0),
    ConfigKey(name="max.in.flight.requests.per.connection", type=_T.INT, default=5, minimum=1),
    ConfigKey(name="max.request.size", type=_T.INT, default=1048576, minimum=0),
    ConfigKey(name="metadata.max.age.ms", type=_T.LONG, default=300000, minimum=0),
    ConfigKey(name="metadata.max.idle.ms", type=_T.LONG, default=300000, minimum=5000),
    ConfigKey(name="metadata.recovery.rebootstrap.trigger.ms", type=_T.LONG, default=300000, minimum=0),
    ConfigKey(
        name="metadata.recovery.strategy",
        type=_T.STRING,
        default="rebootstrap",
        one_of=(
            "rebootstrap",
            "none",
        ),
    ),
    ConfigKey(
        name="metric.reporters",
        type=_T.LIST,
        default=("org.apache.kafka.common.metrics.JmxReporter",),
        status=_REFUSED,
        note="there is no JMX: read Producer.metrics()",
    ),
    ConfigKey(name="metrics.num.samples", type=_T.INT, default=2, minimum=1, status=_REFUSED, note=_METRICS),
    ConfigKey(
        name="metrics.recording.level",
        type=_T.STRING,
        default="INFO",
        one_of=(
            "info",
            "debug",
            "trace",
        ),
        status=_REFUSED,
        note=_METRICS,
    ),
    ConfigKey(name="metrics.sample.window.ms", type=_T.LONG, default=30000, minimum=0, status=_REFUSED, note=_METRICS),
    ConfigKey(name="partitioner.adaptive.partitioning.enable", type=_T.BOOLEAN, default=True),
    ConfigKey(name="partitioner.availability.timeout.ms", type=_T.LONG, default=0, minimum=0),
    ConfigKey(
        name="partitioner.class",
        type=_T.CLASS,
        status=_MAPPED,
        note="an object with partition(topic, key, value, cluster), or RoundRobinPartitioner",
    ),
    ConfigKey(name="partitioner.ignore.keys", type=_T.BOOLEAN, default=False),
    ConfigKey(name="receive.buffer.bytes", type=_T.INT, default=32768, minimum=-1),
    ConfigKey(name="reconnect.backoff.max.ms", type=_T.LONG, default=1000, minimum=0),
    ConfigKey(name="reconnect.backoff.ms", type=_T.LONG, default=50, minimum=0),
    ConfigKey(name="request.timeout.ms", type=_T.INT, default=30000, minimum=0),
    ConfigKey(name="retries", type=_T.INT, default=2147483647, minimum=0, maximum=2147483647),
    ConfigKey(name="retry.backoff.max.ms", type=_T.LONG, default=1000, minimum=0),
    ConfigKey(name="retry.backoff.ms", type=_T.LONG, default=100, minimum=0),
    ConfigKey(name="sasl.client.callback.handler.class", type=_T.CLASS, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.jaas.config", type=_T.PASSWORD, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.kerberos.kinit.cmd", type=_T.STRING, default="/usr/bin/kinit", status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.kerberos.min.time.before.relogin", type=_T.LONG, default=60000, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.kerberos.service.name", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.kerberos.ticket.renew.jitter", type=_T.DOUBLE, default=0.05, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.kerberos.ticket.renew.window.factor", type=_T.DOUBLE, default=0.8, status=_REFUSED, note=_SASL
    ),
    ConfigKey(name="sasl.login.callback.handler.class", type=_T.CLASS, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.login.class", type=_T.CLASS, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.login.connect.timeout.ms", type=_T.INT, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.login.read.timeout.ms", type=_T.INT, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.login.refresh.buffer.seconds",
        type=_T.SHORT,
        default=300,
        minimum=0,
        maximum=3600,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(
        name="sasl.login.refresh.min.period.seconds",
        type=_T.SHORT,
        default=60,
        minimum=0,
        maximum=900,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(
        name="sasl.login.refresh.window.factor",
        type=_T.DOUBLE,
        default=0.8,
        minimum=0.5,
        maximum=1.0,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(
        name="sasl.login.refresh.window.jitter",
        type=_T.DOUBLE,
        default=0.05,
        minimum=0.0,
        maximum=0.25,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(name="sasl.login.retry.backoff.max.ms", type=_T.LONG, default=10000, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.login.retry.backoff.ms", type=_T.LONG, default=100, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.mechanism", type=_T.STRING, default="GSSAPI", status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.oauthbearer.assertion.algorithm",
        type=_T.STRING,
        default="RS256",
        one_of=(
            "es256",
            "rs256",
        ),
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(name="sasl.oauthbearer.assertion.claim.aud", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.oauthbearer.assertion.claim.exp.seconds",
        type=_T.INT,
        default=300,
        minimum=0,
        maximum=86400,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(name="sasl.oauthbearer.assertion.claim.iss", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.oauthbearer.assertion.claim.jti.include", type=_T.BOOLEAN, default=False, status=_REFUSED, note=_SASL
    ),
    ConfigKey(
        name="sasl.oauthbearer.assertion.claim.nbf.seconds",
        type=_T.INT,
        default=60,
        minimum=0,
        maximum=3600,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(name="sasl.oauthbearer.assertion.claim.sub", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.assertion.file", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.assertion.private.key.file", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.assertion.private.key.passphrase", type=_T.PASSWORD, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.assertion.template.file", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.client.credentials.client.id", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.client.credentials.client.secret", type=_T.PASSWORD, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.clock.skew.seconds", type=_T.INT, default=30, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.expected.audience", type=_T.LIST, default=(), status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.expected.issuer", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.header.urlencode", type=_T.BOOLEAN, default=False, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.oauthbearer.jwks.endpoint.refresh.ms", type=_T.LONG, default=3600000, status=_REFUSED, note=_SASL
    ),
    ConfigKey(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        type=_T.LONG,
        default=10000,
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", type=_T.LONG, default=100, status=_REFUSED, note=_SASL
    ),
    ConfigKey(name="sasl.oauthbearer.jwks.endpoint.url", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="sasl.oauthbearer.jwt.retriever.class",
        type=_T.CLASS,
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(
        name="sasl.oauthbearer.jwt.validator.class",
        type=_T.CLASS,
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        status=_REFUSED,
        note=_SASL,
    ),
    ConfigKey(name="sasl.oauthbearer.scope", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.scope.claim.name", type=_T.STRING, default="scope", status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.sub.claim.name", type=_T.STRING, default="sub", status=_REFUSED, note=_SASL),
    ConfigKey(name="sasl.oauthbearer.token.endpoint.url", type=_T.STRING, status=_REFUSED, note=_SASL),
    ConfigKey(
        name="security.protocol",
        type=_T.STRING,
        default="PLAINTEXT",
        one_of=(
            "sasl_ssl",
            "plaintext",
            "ssl",
            "sasl_plaintext",
        ),
        status=_REFUSED,
        note=_TLS,
    ),
    ConfigKey(name="security.providers", type=_T.STRING, status=_REFUSED, note=_JVM),
    ConfigKey(name="send.buffer.bytes", type=_T.INT, default=131072, minimum=-1),
    ConfigKey(name="socket.connection.setup.timeout.max.ms", type=_T.LONG, default=30000),
    ConfigKey(name="socket.connection.setup.timeout.ms", type=_T.LONG, default=10000),
    ConfigKey(name="ssl.cipher.suites", type=_T.LIST, default=(), status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.enabled.protocols", type=_T.LIST, default=("TLSv1.2", "TLSv1.3"), status=_REFUSED, note=_TLS),
    ConfigKey(
        name="ssl.endpoint.identification.algorithm", type=_T.STRING, default="https", status=_REFUSED, note=_TLS
    ),
    ConfigKey(name="ssl.engine.factory.class", type=_T.CLASS, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.key.password", type=_T.PASSWORD, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.keymanager.algorithm", type=_T.STRING, default="SunX509", status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.keystore.certificate.chain", type=_T.PASSWORD, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.keystore.key", type=_T.PASSWORD, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.keystore.location", type=_T.STRING, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.keystore.password", type=_T.PASSWORD, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.keystore.type", type=_T.STRING, default="JKS", status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.protocol", type=_T.STRING, default="TLSv1.3", status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.provider", type=_T.STRING, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.secure.random.implementation", type=_T.STRING, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.trustmanager.algorithm", type=_T.STRING, default="PKIX", status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.truststore.certificates", type=_T.PASSWORD, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.truststore.location", type=_T.STRING, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.truststore.password", type=_T.PASSWORD, status=_REFUSED, note=_TLS),
    ConfigKey(name="ssl.truststore.type", type=_T.STRING, default="JKS", status=_REFUSED, note=_TLS),
    ConfigKey(name="transaction.timeout.ms", type=_T.INT, default=60000),
    ConfigKey(
        name="transaction.two.phase.commit.enable", type=_T.BOOLEAN, default=False, status=_REFUSED, note=_TRANSACTIONS
    ),
    ConfigKey(name="transactional.id", type=_T.STRING),
    ConfigKey(
        name="value.serializer",
        type=_T.CLASS,
        status=_MAPPED,
        note="a callable that answers bytes or None; without one values are bytes",
    ),
)

KEYS: Final[Mapping[str, ConfigKey]] = {key.name: key for key in _KEYS}
