"""Every producer configuration: its name, its type, its validation as in Java, or the reason of its refusal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.config_keys import KEYS, KeyStatus
from broker_client.core.batching.partitioners import RoundRobinPartitioner
from broker_client.errors import ConfigError
from broker_client.producer_config import ProducerConfig
from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from broker_client.core.producer.producer_core import ProducerCore
    from tests.client.scripted_broker import ScriptedCluster

SERVERS = "localhost:9092"


def config(**options: object) -> ProducerConfig:
    return ProducerConfig(bootstrap_servers=SERVERS, **options)


def test_the_defaults_are_kafkas() -> None:
    defaults = config()
    assert (defaults.acks, defaults.idempotent, defaults.linger_ms) == (-1, True, 5)
    assert defaults["buffer.memory"] == 33_554_432
    assert defaults.accumulator_config().batch_size == 16_384
    assert defaults.sender_config().retries == 2**31 - 1
    assert defaults.bootstrap_servers == (("localhost", 9092),)


def test_dots_and_underscores_name_the_same_key() -> None:
    assert ProducerConfig({"bootstrap.servers": SERVERS, "linger.ms": "7"}).linger_ms == 7
    assert config(linger_ms=7).linger_ms == 7
    with pytest.raises(ConfigError, match=re.escape("linger.ms is given twice")):
        ProducerConfig({"linger.ms": 1, "bootstrap.servers": SERVERS}, linger_ms=2)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as several:
        ProducerConfig({"bootstrap.servers": "a:1", "akcs": "all", "linger.ms": "x", "retries": -1})
    assert [line.partition("=")[0] for line in str(several.value).splitlines()][1:] == ["retries", "linger.ms"]
    with pytest.raises(ConfigError, match=r"unknown configuration 'ligner_ms'; did you mean 'linger\.ms'\?"):
        config(ligner_ms=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acks": "2"}, "acks='2': expected one of all, -1, 0, 1"),
        ({"linger_ms": -1}, "linger.ms=-1: expected at least 0"),
        ({"linger_ms": "soon"}, "linger.ms='soon': expected a whole number of 64 bits"),
        ({"linger_ms": None}, "linger.ms=None: expected a whole number of 64 bits"),
        ({"enable_idempotence": "maybe"}, "enable.idempotence='maybe': expected true or false"),
        ({"compression_type": "brotli"}, "compression.type='brotli': expected one of none, gzip"),
        ({"compression_gzip_level": 12}, "compression.gzip.level=12: expected between 1 and 9"),
        ({"max_in_flight_requests_per_connection": 6}, "the idempotent producer takes at most 5"),
        ({"enable_idempotence": True, "acks": "1"}, "acks=1: the idempotent producer needs acks=all"),
        ({"enable_idempotence": True, "retries": 0}, "retries=0: the idempotent producer needs retries"),
        ({"delivery_timeout_ms": 1_000}, "should be equal to or larger than linger.ms + request.timeout.ms, 30005"),
        ({"key_serializer": 3}, "key.serializer=3: expected a callable"),
        (
            {"partitioner_class": "Mine"},
            "partitioner.class='Mine': nothing of that name can be imported; expected RoundRobinPartitioner",
        ),
        (
            {"sasl_kerberos_service_name": "kafka"},
            "sasl.kerberos.service.name='kafka' is refused: GSSAPI is not supported",
        ),
        ({"ssl_provider": "BC"}, "ssl.provider='BC' is refused: it names a part of a JVM"),
        ({"sasl_login_class": "a.B"}, "sasl.login.class='a.B' is refused: Java classes are not supported"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": ""},
            "sasl.mechanism='': security.protocol=SASL_SSL needs one",
        ),
        ({"zk_connect": "here:2181"}, "only the Scala producer had it; use instead: bootstrap.servers"),
        ({"interceptor_classes": "a.B"}, "interceptor.classes='a.B': nothing of that name can be imported"),
        ({"interceptor_classes": [object()]}, "expected an object with on_send(record)"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        config(**options)


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_codec_without_its_package_is_refused(
    codec: str, without_cramjam: Callable[[], AbstractContextManager[None]]
) -> None:
    message = f"compression.type='{codec}': {codec} needs the package cramjam: pip install cramjam"
    with without_cramjam():
        with pytest.raises(ConfigError, match=re.escape(message)):
            config(compression_type=codec)
        assert config(compression_type="gzip").accumulator_config().compression.codec == 1
    assert config(compression_type=codec)["compression.type"] == codec


@pytest.mark.parametrize("servers", ["", "localhost", "localhost:", "localhost:0", "localhost:99999", [], 9092])
def test_an_invalid_address_is_refused(servers: object) -> None:
    with pytest.raises(ConfigError, match=re.escape("bootstrap.servers")):
        ProducerConfig(bootstrap_servers=servers)


def test_bootstrap_servers_are_required() -> None:
    with pytest.raises(ConfigError, match=r"missing required configuration bootstrap\.servers"):
        ProducerConfig()


def test_addresses_have_several_forms() -> None:
    expected = (("a", 1), ("::1", 2))
    assert ProducerConfig(bootstrap_servers="a:1, [::1]:2").bootstrap_servers == expected
    assert ProducerConfig(bootstrap_servers=["PLAINTEXT://a:1", "[::1]:2"]).bootstrap_servers == expected


@pytest.mark.parametrize("options", [{"acks": "1"}, {"acks": "0"}, {"retries": 0}])
def test_idempotence_by_default_yields(options: dict[str, Any]) -> None:
    assert not config(**options).idempotent


def test_a_default_delivery_timeout_grows_with_linger_and_request_timeout() -> None:
    assert config(linger_ms=100_000, request_timeout_ms=60_000).delivery_timeout_ms == 160_000


def test_a_refused_key_may_be_given_its_default() -> None:
    assert config(security_protocol="PLAINTEXT", sasl_mechanism="GSSAPI")["security.protocol"] == "PLAINTEXT"


@pytest.mark.parametrize("nothing", ["", []])
def test_a_refused_list_may_be_empty(nothing: object) -> None:
    assert config(metric_reporters=nothing)["metric.reporters"] == ()


def test_class_names_of_java_are_mapped() -> None:
    mapped = config(
        key_serializer="org.apache.kafka.common.serialization.StringSerializer",
        partitioner_class="org.apache.kafka.clients.producer.RoundRobinPartitioner",
        compression_type="zstd",
        compression_zstd_level=5,
    )
    assert mapped.key_serializer is not None
    assert mapped.key_serializer("é") == "é".encode()
    assert isinstance(mapped.partitioner, RoundRobinPartitioner)
    compression = mapped.accumulator_config().compression
    assert (compression.codec, compression.level) == (CompressionCodec.ZSTD, 5)


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_every_key_is_documented_and_accepts_its_default(key: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert key.doc
    ProducerConfig.docs()
    assert f"\n{key.name} " in "\n" + capsys.readouterr().out
    if key.status is KeyStatus.REFUSED:
        assert key.note
    if key.default is not None and key.name != "acks":  # whose default is shown as a number, as in Java
        assert config(**{key.name.replace(".", "_"): key.default})[key.name] == key.default


def test_a_retry_backoff_above_its_maximum_is_the_maximum(
    cluster: ScriptedCluster, producer_on: Callable[..., ProducerCore]
) -> None:
    """A static back-off, as in Java's warning."""
    core = producer_on(cluster, retry_backoff_ms=2_000, retry_backoff_max_ms=300)
    assert core.metadata._backoff.backoff_ms(5) == 300
