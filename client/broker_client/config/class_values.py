"""Partitioners, interceptors and (de)serializers as objects, classes and dotted names, in place of Java's class names.

An object is used as it is, a class is instantiated, and a dotted name (`package.module.Name`) is imported first, as
Java loads a class. An object with a method `configure` receives the given settings. Mirrors
AbstractConfig.getConfiguredInstances.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from broker_client.config.serializers import BUILT_IN
from broker_client.core.batching.partitioners import Partitioner, RoundRobinPartitioner
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["configured_instance", "loaded_class", "partitioner_of"]

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
    if value in BUILT_IN.get(name, ()):
        return value
    module, _, attribute = value.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError):
        raise ConfigError(f"{name}={value!r}: nothing of that name can be imported{_hint(name, value)}") from None


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
    return tuple(BUILT_IN.get(name, ()))


def _hint(name: str, value: str) -> str:
    if name == _PARTITIONER:
        if value.rsplit(".", 1)[-1] in _BUILT_IN_SINCE:
            return "; it is built in: leave partitioner.class out"
        return "; expected RoundRobinPartitioner, or an object with partition(topic, key, value, cluster)"
    if name in BUILT_IN:
        what = "takes bytes" if name.endswith(".deserializer") else "returns bytes or None"
        return f"; expected a callable that {what}, or one of {', '.join(BUILT_IN[name])}"
    return ""
