"""Values in place of Java's class names: the bytes of Java's serializers, objects, classes and dotted names."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from broker_client.consumer_options import consumer_options
from broker_client.core.batching.partitioners import RoundRobinPartitioner
from broker_client.errors import ConfigError
from broker_client.producer_config import ProducerConfig

if TYPE_CHECKING:
    from broker_client.core.network.cluster import Cluster


class First:
    """Chooses partition 0."""

    settings: dict[str, Any] | None = None

    def configure(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def partition(self, topic: str, key: bytes | None, value: bytes | None, cluster: Cluster) -> int:  # noqa: ARG002
        return 0


class NeedsMore(First):
    """Cannot be instantiated without an argument."""

    def __init__(self, more: int) -> None:
        self.more = more


def upper(value: object) -> bytes:
    return str(value).upper().encode()


def config(**options: object) -> ProducerConfig:
    return ProducerConfig({"bootstrap.servers": "kafka:9092"}, **options)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("String", "é", b"\xc3\xa9"),
        ("ByteArray", bytearray(b"ab"), b"ab"),
        ("ByteBuffer", memoryview(b"ab"), b"ab"),
        ("Bytes", b"ab", b"ab"),
        ("Integer", -2, b"\xff\xff\xff\xfe"),
        ("Long", 1, b"\0\0\0\0\0\0\0\1"),
        ("Short", 258, b"\1\2"),
        ("Float", 1.5, b"\x3f\xc0\0\0"),
        ("Double", 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        ("Boolean", True, b"\1"),
        ("UUID", UUID(int=1), b"00000000-0000-0000-0000-000000000001"),
        ("Void", None, None),
    ],
)
def test_serializers_return_the_bytes_of_java(name: str, value: object, expected: bytes | None) -> None:
    for prefix in ("", "org.apache.kafka.common.serialization."):
        serializer = config(value_serializer=f"{prefix}{name}Serializer").value_serializer
        assert serializer is not None
        assert serializer(value) == expected
        assert serializer(None) is None


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("String", b"\xc3\xa9\xff", "é\ufffd"),
        ("ByteArray", b"ab", b"ab"),
        ("ByteBuffer", b"ab", b"ab"),
        ("Bytes", b"ab", b"ab"),
        ("Integer", b"\xff\xff\xff\xfe", -2),
        ("Long", b"\0\0\0\0\0\0\0\1", 1),
        ("Short", b"\1\2", 258),
        ("Float", b"\x3f\xc0\0\0", 1.5),
        ("Double", b"\x3f\xf8\0\0\0\0\0\0", 1.5),
        ("Boolean", b"\0", False),
        ("UUID", b"00000000-0000-0000-0000-000000000001", UUID(int=1)),
    ],
)
def test_deserializers_return_the_values_of_java(name: str, data: bytes, expected: object) -> None:
    for prefix in ("", "org.apache.kafka.common.serialization."):
        deserializers = consumer_options(
            {"bootstrap.servers": "kafka:9092", "key.deserializer": f"{prefix}{name}Deserializer"}
        ).deserializers
        assert deserializers.key is not None
        assert deserializers.key(data) == expected
        assert deserializers.value is None


@pytest.mark.parametrize(
    ("name", "data"),
    [("Integer", b"\1"), ("Long", b""), ("Boolean", b"\2"), ("Boolean", b""), ("UUID", b"x"), ("Void", b"")],
)
def test_a_deserializer_raises_for_bytes_that_java_refuses(name: str, data: bytes) -> None:
    value = consumer_options({"bootstrap.servers": "kafka:9092", "value_deserializer": f"{name}Deserializer"})
    assert value.deserializers.value is not None
    with pytest.raises((ValueError, struct.error)):
        value.deserializers.value(data)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (5, "expected a callable that takes bytes"),
        ("StringSerializer", "expected a callable that takes bytes, or one of BooleanDeserializer"),
        ("org.apache.kafka.common.serialization.ListDeserializer", "a class of Java that has no counterpart here"),
    ],
)
def test_a_value_that_is_no_deserializer_is_refused_by_name(value: object, hint: str) -> None:
    with pytest.raises(ConfigError, match=rf"key\.deserializer={re.escape(repr(value))}: .*{hint}"):
        consumer_options({"bootstrap.servers": "kafka:9092", "key.deserializer": value})


def test_a_serializer_raises_for_a_wrong_type() -> None:
    short, void = (config(key_serializer=f"{name}Serializer").key_serializer for name in ("Short", "Void"))
    assert short is not None
    assert void is not None
    with pytest.raises(struct.error):
        short(1 << 20)
    with pytest.raises(ValueError, match="takes None alone"):
        void(b"")


def test_a_dotted_name_is_imported() -> None:
    serializer = config(value_serializer=f"{__name__}.upper").value_serializer
    assert serializer is not None
    assert serializer("a") == b"A"
    assert isinstance(config(partitioner_class=f"{__name__}.First").partitioner, First)


def test_objects_and_instances_of_classes_are_configured() -> None:
    given = First()
    for partitioner in (config(partitioner_class=given).partitioner, config(partitioner_class=First).partitioner):
        assert isinstance(partitioner, First)
        assert partitioner.settings is not None
        assert partitioner.settings["bootstrap.servers"] == "kafka:9092"
    assert isinstance(config(partitioner_class="RoundRobinPartitioner").partitioner, RoundRobinPartitioner)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitioner_class": NeedsMore}, "cannot be instantiated without arguments"),
        ({"partitioner_class": object()}, "an object with partition(topic, key, value, cluster)"),
        ({"partitioner_class": "org.apache.kafka.clients.producer.UniformStickyPartitioner"}, "it is built in"),
        ({"key_serializer": "org.apache.kafka.common.serialization.ListSerializer"}, "has no counterpart here"),
        ({"key_serializer": "no.such.name"}, "nothing of that name can be imported"),
        ({"value_serializer": object()}, "expected a callable that returns bytes or None"),
        ({"ssl_key_password": "secret", "ssl_engine_factory_class": "x"}, "ssl.engine.factory.class='x' is refused"),
        (
            {"sasl_oauthbearer_client_credentials_client_secret": "secret"},
            "sasl.oauthbearer.client.credentials.client.secret=(hidden) is refused",
        ),
    ],
)
def test_an_invalid_value_is_reported(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        config(**options)
