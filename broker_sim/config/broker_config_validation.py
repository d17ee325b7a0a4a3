"""Validates dynamic configurations of brokers, with Kafka's error texts (KIP-226).

Mirrors DynamicBrokerConfig.validate and the validateReconfiguration of each part that can be reconfigured. First names,
then types, then the rules across fields (`cross_field_validation`), then each part: the first error is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.config.config_names import base_name, of_a_listener
from broker_sim.config.cross_field_validation import check_together, retention_ms
from broker_sim.config.definitions import ConfigValue, broker_definitions
from broker_sim.config.dynamic_listeners import (
    check_listener_texts,
    check_listeners_stay,
    listener_names,
    listener_protocols,
)
from broker_sim.config.listeners import SecurityProtocol
from broker_sim.config.simulator_configs import PIPELINED, THREAD_MODEL
from broker_sim.config.values import ConfigValueError, parse_value
from broker_sim.errors import ConfigError
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.config.broker_config import BrokerConfig

_UNPREFIXED_SECURITY: Final = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
)
_CLUSTER_LEVEL_OF_LISTENERS: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
QUOTAS: Final = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
"""The configurations that are dynamic alone. Mirrors QuotaConfig.brokerQuotaConfigs."""

_THREADS: Final = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")
_REMOTE: Final = (
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
)
_REMOTE_THREADS: Final = (
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
)
_WITH_TLS: Final = (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)
_REPORTER: Final = "org.apache.kafka.common.metrics.JmxReporter"
_INT64_MAX: Final = (1 << 63) - 1


def validate_dynamic_configs(configs: Mapping[str, str], config: BrokerConfig, *, per_broker: bool) -> None:
    """Raise ConfigError for the first reason why these cannot be a broker's, or all brokers', dynamic configuration."""
    definitions = broker_definitions(config.release)
    scala = config.behaviour.scala_collections_in_messages
    _refuse(
        "Cannot update these configs dynamically",
        (name for name in configs if name in definitions and definitions[name].read_only),
        "Set" if scala else "",
    )
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        (name for name in _UNPREFIXED_SECURITY if name in configs),
        "HashSet" if scala else "",
    )
    for name, text in configs.items():
        _check_type(name, text, config)
    if not per_broker:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            (name for name in configs if _is_per_broker(name, config)),
            "Set" if scala else "",
        )
    if per_broker:
        new = config.with_dynamic(config.dynamic_defaults, configs)
    else:
        new = config.with_dynamic(configs, config.dynamic_own)
    check_listener_texts(new)
    check_together(new)
    try:
        for check in _PARTS:
            check(config, new)
    except ConfigError as error:
        msg = (
            f"Invalid value org.apache.kafka.common.config.ConfigException: {error} "
            "for configuration Invalid dynamic configuration"
        )
        raise ConfigError(msg) from None


def usable(configs: Mapping[str, str], config: BrokerConfig, *, per_broker: bool) -> dict[str, str]:
    """Return the valid ones of stored configurations, each checked alone: a controller stores every known name.

    Mirrors DynamicBrokerConfig.fromPersistentProps.
    """
    return {name: text for name, text in configs.items() if _is_usable(name, text, config, per_broker=per_broker)}


def _is_usable(name: str, text: str, config: BrokerConfig, *, per_broker: bool) -> bool:
    definition = broker_definitions(config.release).get(name)
    if definition is not None and definition.read_only:
        return False
    if name in _UNPREFIXED_SECURITY or (not per_broker and _is_per_broker(name, config)):
        return False
    try:
        _check_type(name, text, config)
    except ConfigError:
        return False
    return True


def _refuse(reason: str, names: Iterable[str], collection: str) -> None:
    found = list(names)
    if found:
        listed = ", ".join(hash_order(found))
        shown = f"{collection}({listed})" if collection else f"[{listed}]"
        msg = f"{reason}: {shown}"
        raise ConfigError(msg)


def _is_per_broker(name: str, config: BrokerConfig) -> bool:
    base = of_a_listener(name)
    if base is not None:
        return base not in _CLUSTER_LEVEL_OF_LISTENERS
    definition = broker_definitions(config.release).get(name)
    return definition is not None and definition.update_mode == "per-broker"


def _check_type(name: str, text: str, config: BrokerConfig) -> None:
    base = base_name(name)
    if base in QUOTAS:
        _check_quota(base, text)
        return
    definition = broker_definitions(config.release).get(base)
    if definition is None:
        return
    parse_value(definition, text)


def _check_quota(name: str, text: str) -> None:
    digits = text.strip().removeprefix("-").removeprefix("+")
    if not digits.isdecimal() or not -_INT64_MAX - 1 <= int(text) <= _INT64_MAX:
        raise ConfigValueError(name, text, "Not a number of type LONG")
    if int(text) < 0:
        raise ConfigValueError(name, int(text), "Value must be at least 0")


# The parts that are reconfigured.


def _check_reporters(old: BrokerConfig, new: BrokerConfig) -> None:
    reporters = new["metric.reporters"]
    if reporters == old["metric.reporters"] or not isinstance(reporters, list):
        return
    if not all(each == _REPORTER for each in reporters):
        names = "Set(metric.reporters)" if new.behaviour.scala_collections_in_messages else "[metric.reporters]"
        if "metric.reporters" not in old.overrides:
            names = "Set(metric.reporters)"
        msg = (
            f"Validation of dynamic config update of {names} failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )
        raise ConfigError(msg)


def _check_threads(old: BrokerConfig, new: BrokerConfig) -> None:
    handlers = "num.io.threads"
    if new[THREAD_MODEL] == PIPELINED and new[handlers] != old[handlers]:
        raise ConfigError(f"{handlers}={new[handlers]}: the pool of thread.model=pipelined is not resizable")
    for name in hash_order(new.values):
        if name in _THREADS:
            _check_thread_count(name, old, new)


def _check_thread_count(name: str, old: BrokerConfig, new: BrokerConfig) -> None:
    _check_resize(name, old[name], new[name])


def _check_resize(name: str, old: ConfigValue, new: ConfigValue) -> None:
    value, current = _number(new), _number(old)
    if value == current:
        return
    prefix = f"Dynamic thread count update validation failed for {name}={value}, value should"
    if value <= 0:
        raise ConfigError(f"{prefix} be at least 1")
    if value < current // 2:
        raise ConfigError(f"{prefix} be at least half the current value {current}")
    if value > current * 2:
        raise ConfigError(f"{prefix} not be greater than double the current value {current}")


def _check_cleaner_threads(old: BrokerConfig, new: BrokerConfig) -> None:
    value, current = _number(new["log.cleaner.threads"]), _number(old["log.cleaner.threads"])
    if value < 1:
        raise ConfigError("Log cleaner threads should be at least 1")
    if value < current // 2:
        raise ConfigError(f"Log cleaner threads cannot be reduced to less than half the current value {current}")
    if value > current * 2:
        raise ConfigError(f"Log cleaner threads cannot be increased to more than double the current value {current}")


def _check_local_retention(old: BrokerConfig, new: BrokerConfig) -> None:
    for local_name, name in (
        ("log.local.retention.ms", "log.retention.ms"),
        ("log.local.retention.bytes", "log.retention.bytes"),
    ):
        local, total = _number(new[local_name], default=-2), _retention(new, name)
        if (new[local_name], total) == (old[local_name], _retention(old, name)) or total == -1 or local == -2:
            continue
        if local == -1:
            raise ConfigValueError(local_name, local, f"Value must not be -1 as {name} value is set as {total}.")
        if local > total:
            raise ConfigValueError(local_name, local, f"Value must not be more than {name} property value: {total}")


def _retention(config: BrokerConfig, name: str) -> int:
    return _number(config[name]) if name != "log.retention.ms" else retention_ms(config)


def _check_connections(old: BrokerConfig, new: BrokerConfig) -> None:
    for name in ("max.connections", "max.connection.creation.rate"):
        if new[name] != old[name] and _number(new[name]) <= 0:
            raise ConfigError(f"Invalid {name} {new[name]}")
        for listener in listener_names(new):
            value = new.for_listener(name, listener)
            if value != old.for_listener(name, listener) and _number(value) <= 0:
                raise ConfigError(f"Invalid {name} {value}")


def _check_key_stores(old: BrokerConfig, new: BrokerConfig) -> None:
    protocols = listener_protocols(new)
    for listener in listener_names(new):
        if protocols.get(listener) in _WITH_TLS:
            # Brokers without TLS do not pay for it.
            from broker_sim.config.listener_ssl import check_key_store

            check_key_store(listener, old, new)


def _check_network_threads(old: BrokerConfig, new: BrokerConfig) -> None:
    name = "num.network.threads"
    _check_thread_count(name, old, new)
    for listener in listener_names(new):
        _check_resize(name, old.for_listener(name, listener), new.for_listener(name, listener))


def _check_remote(old: BrokerConfig, new: BrokerConfig) -> None:
    for name in _REMOTE_THREADS:
        if name in new.values:
            _check_resize(name, old[name], new[name])
    for name in _REMOTE:
        if name in new.values and new[name] != old[name] and _number(new[name]) <= 0:
            msg = f"Dynamic remote log manager config update validation failed for {name}={new[name]}, value should"
            raise ConfigError(f"{msg} be at least 1")


_PARTS: Final[tuple[Callable[[BrokerConfig, BrokerConfig], None], ...]] = (
    _check_reporters,
    _check_connections,
    _check_threads,
    _check_cleaner_threads,
    _check_local_retention,
    check_listeners_stay,
    _check_key_stores,
    _check_network_threads,
    _check_remote,
)


def _number(value: ConfigValue, *, default: int = 0) -> int:
    return value if isinstance(value, int) else default
