"""Settings for ProducerConfig and KafkaProducer: every key by its type, then cross-field rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_client.config_keys import KEYS, ValueType

if TYPE_CHECKING:
    from collections.abc import Iterator

Settings: TypeAlias = Mapping[str, object]

RECORDED: Final = Path(__file__).parent / "recorded" / "producer-config-4.3.1.json"
BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
# The settings of every case unless it overrides them; no broker listens there.
GROUND: Final[Mapping[str, object]] = {
    "bootstrap.servers": "127.0.0.1:51999",
    "key.serializer": BYTES,
    "value.serializer": BYTES,
    "client.id": "compared",
}

_INT: Final = ("0", "1", "-1", "-2", "+7", " 8 ", "5.0", "", "1_0", "x", 3, 2**31 - 1, 2**31, -(2**31), True, 1.5, None)
_LONG: Final = (
    "0",
    "-1",
    "9",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "1e3",
    4,
    2**40,
    False,
    None,
)
_OF_TYPE: Final[Mapping[ValueType, tuple[object, ...]]] = {
    ValueType.INT: _INT,
    ValueType.LONG: _LONG,
    ValueType.SHORT: ("0", "-1", "901", "3601", "32768", "70", "x", None),
    ValueType.DOUBLE: (
        "0.1",
        "0.5",
        "1",
        "1.01",
        "-0.1",
        ".2",
        "0.2d",
        "1e-1",
        "NaN",
        "inf",
        "1_0.0",
        "x",
        0.6,
        1,
        None,
    ),
    ValueType.BOOLEAN: ("true", "FALSE", " True ", "yes", "1", "", True, False, 1, None),
    ValueType.STRING: ("", " x ", 5, None),
    ValueType.PASSWORD: ("", "secret", 5, None),
    ValueType.LIST: ("", "a,b", "a , b", "a,a", "a,,b", ",", ["a", "b"], [], ["a", "a"], ["a", ""], 5, None),
}
_CANONICAL: Final = "resolve_canonical_bootstrap_servers_only"
# Only in the groups below: most texts would make Java load classes, files or a login.
_BY_HAND: Final = (
    "bootstrap.servers",
    "config.providers",
    "interceptor.classes",
    "key.serializer",
    "metric.reporters",
    "sasl.jaas.config",
    "security.providers",
    "value.serializer",
)


def all_settings() -> list[Settings]:
    """Return every case once, in a stable order."""
    unique: dict[str, Settings] = {}
    for settings in (*_single(), *_addresses(), *_classes(), *_choices(), *_together(), *_order_of_errors()):
        unique.setdefault(json.dumps(settings, sort_keys=True), settings)
    return list(unique.values())


def _single() -> Iterator[Settings]:
    yield {}
    for key in KEYS.values():
        if key.name in _BY_HAND or key.type is ValueType.CLASS or key.removed_in:
            continue
        for value in _OF_TYPE[key.type]:
            yield {key.name: value}
        for edge in (key.minimum, key.maximum):
            if edge is not None:
                step = 1 if isinstance(edge, int) else 0.001
                yield from ({key.name: str(value)} for value in (edge - step, edge, edge + step))


def _addresses() -> Iterator[Settings]:
    texts = (
        "",
        ",",
        "localhost",
        "localhost:",
        ":9092",
        "localhost:0",
        "localhost:-1",
        "localhost:65535",
        "localhost:65536",
        "localhost:99999999999",
        "localhost:9x",
        "127.0.0.1:51998,127.0.0.1:51999",
        "127.0.0.1:51998 , 127.0.0.1:51999",
        "127.0.0.1:51998,127.0.0.1:51998",
        "127.0.0.1:51998,",
        ",127.0.0.1:51998",
        "127.0.0.1:51998,,127.0.0.1:51999",
        "127.0.0.1:51998;127.0.0.1:51999",
        "[::1]:51999",
        "::1:51999",
        "[::1]",
        "PLAINTEXT://127.0.0.1:51999",
        "SSL://127.0.0.1:51999",
        "http://127.0.0.1:51999",
        "no-such-host.invalid:51999",
        "no-such-host.invalid:51999,127.0.0.1:51999",
        "127.0.0.1:51999/path",
        "a b:51999",
        "my_host.invalid:51999,127.0.0.1:51999",
    )
    lists: tuple[list[str], ...] = (
        [],
        ["127.0.0.1:51998"],
        ["127.0.0.1:51998", "127.0.0.1:51999"],
        [""],
        ["127.0.0.1:51998,127.0.0.1:51999"],
    )
    for value in (*texts, *lists, 9092, None):
        yield {"bootstrap.servers": value}
    yield {"bootstrap.servers": "127.0.0.1:51999", "client.dns.lookup": _CANONICAL}
    yield {"bootstrap.servers": "127.0.0.1", "client.dns.lookup": _CANONICAL}


def _classes() -> Iterator[Settings]:
    serializers = "org.apache.kafka.common.serialization."
    for name in ("key.serializer", "value.serializer"):
        for kind in ("ByteArray", "String", "Integer", "Long", "Short", "Float", "Double", "UUID", "Void", "Boolean"):
            yield {name: f"{serializers}{kind}Serializer"}
        for wrong in ("no.such.Serializer", "", None, 5, f"{serializers}StringDeserializer", "java.lang.Object"):
            yield {name: wrong}
    producer = "org.apache.kafka.clients.producer."
    for partitioner in (f"{producer}RoundRobinPartitioner", "no.such.Partitioner", "java.lang.Object", "", None, 5):
        yield {"partitioner.class": partitioner}
    yield {"partitioner.class": f"{producer}UniformStickyPartitioner"}
    yield {"partitioner.class": f"{producer}internals.DefaultPartitioner"}
    yield {
        "partitioner.class": f"{producer}RoundRobinPartitioner",
        "partitioner.adaptive.partitioning.enable": "true",
        "partitioner.availability.timeout.ms": "100",
    }
    for listed in ("interceptor.classes", "metric.reporters"):
        yield from ({listed: value} for value in ("", None, "no.such.Class", "java.lang.Object", 5))
        yield {listed: []}
    jmx = "org.apache.kafka.common.metrics.JmxReporter"
    yield from ({"metric.reporters": value} for value in (jmx, [jmx], f"{jmx},{jmx}"))


def _choices() -> Iterator[Settings]:
    words = {
        "acks": ("all", "ALL", "All", " all ", "-1", "0", "1", "2", "-2", "+1", "01", "1.0", "none", 1, -1, 0),
        "compression.type": (
            "none",
            "gzip",
            "snappy",
            "lz4",
            "zstd",
            "GZIP",
            "Zstd",
            " lz4 ",
            "uncompressed",
            "producer",
        ),
        "client.dns.lookup": (
            "use_all_dns_ips",
            "USE_ALL_DNS_IPS",
            "default",
            "resolve_canonical_bootstrap_servers_only",
        ),
        "metadata.recovery.strategy": ("none", "NONE", "None", "rebootstrap", "REBOOTSTRAP", " rebootstrap ", "always"),
        "metrics.recording.level": ("INFO", "DEBUG", "TRACE", "info", "debug", "Trace", " INFO ", "WARN"),
        "security.protocol": ("PLAINTEXT", "plaintext", "Plaintext", " PLAINTEXT ", "SSL", "ssl", "TLS", "SASL_SSL"),
        "transactional.id": ("t", " ", " t ", "a.b-c_d", "é"),
        "sasl.mechanism": ("PLAIN", "GSSAPI", "plain", "NO-SUCH"),
        "sasl.oauthbearer.assertion.algorithm": ("RS256", "rs256", "ES256", "HS256"),
    }
    for name, values in words.items():
        yield from ({name: value} for value in values)
    for level in ("1", "9", "10", "0", "-1", "-2"):
        yield {"compression.type": "gzip", "compression.gzip.level": level}
    for level in ("1", "17", "18", "0", "-1"):
        yield {"compression.type": "lz4", "compression.lz4.level": level}
    for level in ("-131072", "-131073", "0", "22", "23"):
        yield {"compression.type": "zstd", "compression.zstd.level": level}
    yield {"compression.type": "snappy", "compression.gzip.level": "7"}
    yield {"compression.type": "gzip", "compression.zstd.level": "30"}
    yield from ({"compression.type": kind} for kind in ("gzip", "lz4", "zstd", "snappy", "none"))


def _together() -> Iterator[Settings]:
    flight = "max.in.flight.requests.per.connection"
    for enabled in ({}, {"enable.idempotence": "true"}, {"enable.idempotence": "false"}, {"enable.idempotence": True}):
        for rest in (
            {},
            {"acks": "all"},
            {"acks": "-1"},
            {"acks": "1"},
            {"acks": "0"},
            {"retries": "0"},
            {"retries": "1"},
            {flight: "1"},
            {flight: "5"},
            {flight: "6"},
            {"acks": "1", "retries": "0"},
            {"acks": "0", flight: "6"},
            {"retries": "0", flight: "6"},
            {"acks": "1", "retries": "0", flight: "6"},
            {"acks": "all", "retries": "3", flight: "5"},
        ):
            yield {**enabled, **rest}
            yield {**enabled, **rest, "transactional.id": "t"}
    yield {"transactional.id": None, "enable.idempotence": "false"}
    yield {"transactional.id": None, "acks": "1"}
    yield {"transactional.id": "t", "transaction.timeout.ms": "1000"}
    yield {"transactional.id": "t", "transaction.timeout.ms": "0"}
    yield {"transactional.id": "t", "transaction.two.phase.commit.enable": "true"}
    yield {"transactional.id": "t", "transaction.two.phase.commit.enable": "true", "transaction.timeout.ms": "1000"}
    yield {"transaction.two.phase.commit.enable": "true"}
    yield {"transaction.two.phase.commit.enable": "true", "transaction.timeout.ms": "1000"}
    yield {"transaction.timeout.ms": "1000"}
    delivery, linger, request = "delivery.timeout.ms", "linger.ms", "request.timeout.ms"
    yield from _delivery(delivery, linger, request)
    yield from (
        {"retry.backoff.ms": "2000"},
        {"retry.backoff.ms": "2000", "retry.backoff.max.ms": "1000"},
        {"retry.backoff.ms": "0", "retry.backoff.max.ms": "0"},
        {"retry.backoff.max.ms": "10"},
        {"reconnect.backoff.ms": "2000"},
        {"reconnect.backoff.ms": "20"},
        {"reconnect.backoff.ms": "2000", "reconnect.backoff.max.ms": "100"},
        {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"},
        {"reconnect.backoff.max.ms": "10"},
        {"reconnect.backoff.ms": "0"},
        {"socket.connection.setup.timeout.ms": "50000"},
        {"socket.connection.setup.timeout.ms": "50000", "socket.connection.setup.timeout.max.ms": "100"},
        {"socket.connection.setup.timeout.ms": "0", "socket.connection.setup.timeout.max.ms": "0"},
    )
    yield from (
        {"batch.size": "0"},
        {"batch.size": "1"},
        {"batch.size": "1000000", "buffer.memory": "100"},
        {"buffer.memory": "0"},
        {"max.request.size": "0"},
        {"max.request.size": "10", "batch.size": "100"},
        {"batch.size": "2147483647"},
        {"buffer.memory": "9223372036854775807"},
    )
    yield from (
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": ""},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": None},
        {"security.protocol": "sasl_ssl", "sasl.mechanism": " "},
        {"security.protocol": "PLAINTEXT", "sasl.mechanism": ""},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
    )
    yield {"metadata.recovery.strategy": "none", "metadata.recovery.rebootstrap.trigger.ms": "0"}
    yield {"enable.metrics.push": "false"}
    yield {"client.id": ""}


def _delivery(delivery: str, linger: str, request: str) -> Iterator[Settings]:
    yield from (
        {delivery: "120000"},
        {delivery: "30005"},
        {delivery: "30004"},
        {delivery: "0"},
        {delivery: "0", linger: "0", request: "0"},
        {delivery: "2147483647"},
        {linger: "90000"},
        {linger: "90001"},
        {linger: "100000", request: "60000"},
        {linger: "100000", request: "60000", delivery: "120000"},
        {linger: "100000", request: "60000", delivery: "160000"},
        {linger: "2147483648"},
        {linger: "2147483648", delivery: "2147483647"},
        {linger: "9223372036854775807"},
        {request: "119995"},
        {request: "119996"},
        {request: "2147483647"},
        {request: "2147483647", delivery: "2147483647"},
        {request: "2147483647", delivery: "2147483646"},
        {request: "0"},
        {linger: "0", request: "120000", delivery: "120000"},
        {linger: "1", request: "120000", delivery: "120000"},
    )


def _order_of_errors() -> Iterator[Settings]:
    """Several errors at once: which one is reported."""
    flight = "max.in.flight.requests.per.connection"
    mistakes: tuple[Settings, ...] = (
        {"bootstrap.servers": "localhost"},
        {"delivery.timeout.ms": "1"},
        {"enable.idempotence": "true", "acks": "1"},
        {"enable.idempotence": "true", "retries": "0", "acks": "1", flight: "6"},
        {"acks": "2"},
        {"linger.ms": "x"},
        {"compression.type": "brotli"},
        {"compression.gzip.level": "99"},
        {"retries": "-1"},
        {"metadata.max.idle.ms": "1"},
        {"client.dns.lookup": "no"},
        {"partitioner.class": "no.such.Partitioner"},
        {"transactional.id": "", "enable.idempotence": "false"},
        {"transactional.id": "t", "acks": "0", "enable.idempotence": "false"},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": ""},
        {"metadata.recovery.strategy": "no"},
        {"transaction.two.phase.commit.enable": "true", "transaction.timeout.ms": "1000"},
        {"key.serializer": "no.such.Serializer"},
        {"interceptor.classes": "a,,b"},
    )
    for at, one in enumerate(mistakes):
        for other in mistakes[at + 1 :]:
            if not set(one) & set(other):
                yield {**one, **other}
