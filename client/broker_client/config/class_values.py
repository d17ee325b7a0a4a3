"""Serializers, partitioners and interceptors as callables and objects, in place of Java's class names.

An object is used as it is, a class is instantiated, and a dotted name (`package.module.Name`) is imported first, as
Java loads a class. An object with a method `configure` receives the given settings. Mirrors
AbstractConfig.getConfiguredInstances.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from broker_client.core.batching.partitioners import Partitioner, RoundRobinPartitioner
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

__all__ = ["Serializer", "loaded_class", "partitioner_of", "serializer_of"]

Serializer = Callable[[object], bytes | None]

_PARTITIONER: Final = "partitioner.class"
_JAVA_PACKAGES: Final = ("org.apache.kafka.", "java.")
_BUILT_IN_SINCE: Final = ("DefaultPartitioner", "UniformStickyPartitioner")


def loaded_class(name: str, value: object) -> object:
    """Import a dotted name; return any other value as it is.

    Raises:
        ConfigError: nothing of that name can be imported.
    """
    if not isinstance(value, str):
        return value
    if value.startswith(_JAVA_PACKAGES):
        if value.rsplit(".", 1)[-1] in _java_names(name):
            return value
        raise ConfigError(f"{name}={value!r}: a class of Java that has no counterpart here{_hint(name, value)}")
    if name == _PARTITIONER and value == "RoundRobinPartitioner":
        return value
    if name in _SERIALIZERS_OF and value in _JAVA_SERIALIZERS:
        return value
    module, _, attribute = value.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError):
        raise ConfigError(f"{name}={value!r}: nothing of that name can be imported{_hint(name, value)}") from None


def serializer_of(name: str, value: object) -> Serializer | None:
    """Return the callable that serializes to bytes, None if keys or values are bytes already.

    Raises:
        ConfigError: the value is not callable.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _JAVA_SERIALIZERS[value.rsplit(".", 1)[-1]]
    if callable(value):
        return cast("Serializer", value)
    raise ConfigError(f"{name}={value!r}: expected a callable that returns bytes or None")


def partitioner_of(value: object, given: Mapping[str, object]) -> Partitioner | None:
    """Return the object that chooses partitions, None for the built-in one.

    Raises:
        ConfigError: the object has no method `partition`, or its class cannot be instantiated.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return RoundRobinPartitioner()
    partitioner = configured_instance(_PARTITIONER, value, given)
    if callable(getattr(partitioner, "partition", None)):
        return cast("Partitioner", partitioner)
    raise ConfigError(
        f"{_PARTITIONER}={value!r}: expected RoundRobinPartitioner, "
        "or an object with partition(topic, key, value, cluster)"
    )


def configured_instance(name: str, value: object, given: Mapping[str, object]) -> object:
    """Return the object, or an instance of the class, after it was configured with the given settings.

    Raises:
        ConfigError: the class cannot be instantiated without arguments.
    """
    if isinstance(value, type):
        try:
            value = value()
        except Exception as error:
            raise ConfigError(f"{name}={value!r}: cannot be instantiated without arguments: {error}") from error
    configure = getattr(value, "configure", None)
    if callable(configure):
        configure(dict(given))
    return value


def _java_names(name: str) -> tuple[str, ...]:
    if name == _PARTITIONER:
        return ("RoundRobinPartitioner",)
    return tuple(_JAVA_SERIALIZERS) if name in _SERIALIZERS_OF else ()


def _hint(name: str, value: str) -> str:
    if name == _PARTITIONER:
        if value.rsplit(".", 1)[-1] in _BUILT_IN_SINCE:
            return "; it is built in: leave partitioner.class out"
        return "; expected RoundRobinPartitioner, or an object with partition(topic, key, value, cluster)"
    if name in _SERIALIZERS_OF:
        return f"; expected a callable that returns bytes or None, or one of {', '.join(_JAVA_SERIALIZERS)}"
    return ""


def _packed(layout: str) -> Serializer:
    packer = struct.Struct(layout)
    return lambda value: None if value is None else packer.pack(value)


def _text(value: object) -> bytes | None:
    return None if value is None else cast("str", value).encode()


def _bytes(value: object) -> bytes | None:
    return None if value is None else bytes(cast("bytes", value))


def _uuid(value: object) -> bytes | None:
    return None if value is None else str(cast("UUID", value)).encode()


def _void(value: object) -> bytes | None:
    if value is None:
        return None
    raise ValueError(f"VoidSerializer takes None alone, not {value!r}")


_SERIALIZERS_OF: Final = ("key.serializer", "value.serializer")
_JAVA_SERIALIZERS: Final[Mapping[str, Serializer]] = {
    "BooleanSerializer": _packed(">?"),
    "ByteArraySerializer": _bytes,
    "ByteBufferSerializer": _bytes,
    "BytesSerializer": _bytes,
    "DoubleSerializer": _packed(">d"),
    "FloatSerializer": _packed(">f"),
    "IntegerSerializer": _packed(">i"),
    "LongSerializer": _packed(">q"),
    "ShortSerializer": _packed(">h"),
    "StringSerializer": _text,
    "UUIDSerializer": _uuid,
    "VoidSerializer": _void,
}
