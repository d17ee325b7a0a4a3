"""Validates a broker's configurations together; each value is valid by itself.

Mirrors KafkaConfig.validateValues and the checks in the constructors of GroupCoordinatorConfig and ShareGroupConfig
inside it: at a broker's start, and again for each dynamic configuration. The first error is raised.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.config.authorizer_settings import AUTHORIZER_CLASS
from broker_sim.config.config_names import synonyms_of
from broker_sim.config.connection_overrides import connection_overrides
from broker_sim.config.definitions import broker_definitions
from broker_sim.config.dynamic_listeners import check_listener_names
from broker_sim.config.values import KAFKA_CLASSES, NamelessConfigError
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.definitions import ConfigValue

_ASSIGNORS: Final = ("group.consumer.assignors", "group.share.assignors")
_GROUP_KINDS: Final = ("consumer", "share", "streams")
_GROUP_TIMES: Final = ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
_GROUP_PREFIX: Final = "group."
_SHARE_LIMITS: Final = ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")
_COMPRESSION_TYPES: Final = range(5)
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")
_DEDUPE_BYTES_PER_THREAD: Final = 1024 * 1024
_REQUIREMENT: Final = "requirement failed: "
_MAPPING_RULES: Final = "ssl.principal.mapping.rules"
_NO_RULES: Final = "DEFAULT"
_BUILDER_CLASS: Final = "principal.builder.class"
_BUILDER: Final = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
_NAME: Final = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)+")


def check_at_start(config: BrokerConfig) -> None:
    """Raise ConfigError, with reason and value, for configurations with which no broker starts."""
    try:
        check_together(config)
        if config[AUTHORIZER_CLASS]:
            _refuse_other_principals(config)
    except ConfigError as error:
        reason = str(error).removeprefix(_REQUIREMENT)
        about = f"{error.about}: {reason}" if isinstance(error, NamelessConfigError) else reason
        named = {synonym for name in _NAME.findall(about) for synonym in synonyms_of(name)}
        given = ", ".join(f"{name}={text}" for name, text in config.static.items() if name in named)
        raise ConfigError(f"{about} (given: {given})" if given else about) from None


def _refuse_other_principals(config: BrokerConfig) -> None:
    """Refuse configurations by which Kafka gives principals other names: an authorizer would decide by them."""
    for name, text in config.overrides.items():
        if name.endswith(_MAPPING_RULES) and text != _NO_RULES:
            raise ConfigError(f"{name}={text}: the simulator maps no subjects of certificates: expected {_NO_RULES}")
        if name == _BUILDER_CLASS and text != _BUILDER:
            raise ConfigError(f"{name}={text}: the simulator has no other than {_BUILDER}")


def check_together(config: BrokerConfig) -> None:
    """Raise ConfigError, with Kafka's text, for the first rule across fields that the values break."""
    _check_assignors(config)
    _check_compression_type(config, "offsets.topic.compression.codec")
    # The defaults of a release fit each other, and most brokers keep those of groups.
    if any(name.startswith(_GROUP_PREFIX) for name in config.overrides):
        for kind in _GROUP_KINDS:
            _check_group_times(config, kind)
        _check_share_limits(config)
    _check_compression_type(config, "share.coordinator.state.topic.compression.codec")
    _check_protocols(config)
    _check_migration(config)
    _check_log(config)
    if config.behaviour.knows_cordoned_directories:
        _check_cordoned(config)
    _check_replicas(config)
    check_listener_names(config)
    _check_network(config)
    principals = "principal.builder.class"
    if principals in config.overrides:
        _require(str(config[principals]).startswith(KAFKA_CLASSES), f"{principals} must implement KafkaPrincipalSerde")


def check_bounds(key: str, value: ConfigValue, config: BrokerConfig, lowest: str | None, highest: str | None) -> None:
    """Raise ConfigError for a number beyond the limits that the broker's configurations of these names set."""
    if lowest is not None and _number(value) < _number(config[lowest]):
        raise ConfigError(f"{key} must be greater than or equal to {lowest}")
    if highest is not None and _number(value) > _number(config[highest]):
        raise ConfigError(f"{key} must be less than or equal to {highest}")


def _require(holds: bool, words: str) -> None:  # noqa: FBT001 - reads as Scala's require
    if not holds:
        raise ConfigError(f"{_REQUIREMENT}{words}")


def _number(value: ConfigValue, *, default: int = 0) -> int:
    return value if isinstance(value, int) else default


# Groups.


def _check_assignors(config: BrokerConfig) -> None:
    definitions = broker_definitions(config.release)
    for option in _ASSIGNORS:
        if option in definitions:
            given, known = config[option], definitions[option].default
            assert isinstance(given, list)
            assert isinstance(known, list)
            for assignor in given:
                if assignor not in known and not assignor.startswith(KAFKA_CLASSES):
                    raise NamelessConfigError(f"Class {assignor} cannot be found", about=option)


def _check_compression_type(config: BrokerConfig, option: str) -> None:
    number = config.values.get(option, 0)
    if number not in _COMPRESSION_TYPES:
        raise NamelessConfigError(f"Unknown compression type id: {number}", about=option)


def _check_group_times(config: BrokerConfig, kind: str) -> None:
    for key in _GROUP_TIMES:
        option, lowest, highest = f"group.{kind}.{key}", f"group.{kind}.min.{key}", f"group.{kind}.max.{key}"
        if option in config.values:
            check_bounds(highest, config[highest], config, lowest, None)
            check_bounds(option, config[option], config, lowest, highest)
    heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
    apart = config.behaviour.heartbeats_come_within_sessions and session in config.values
    if apart and _number(config[heartbeat]) >= _number(config[session]):
        raise ConfigError(f"{heartbeat} must be less than {session}")
    replicas = "group.streams.num.standby.replicas"
    if kind == "streams" and replicas in config.values:
        check_bounds(replicas, config[replicas], config, None, "group.streams.max.standby.replicas")


def _check_share_limits(config: BrokerConfig) -> None:
    for key in _SHARE_LIMITS:
        option, highest = f"group.share.{key}", f"group.share.max.{key}"
        if highest in config.values:
            check_bounds(option, config[option], config, f"group.share.min.{key}", None)
            check_bounds(highest, config[highest], config, option, None)
    sessions = "group.share.max.share.sessions"
    if sessions in config.values:
        check_bounds(sessions, config[sessions], config, "group.share.max.size", None)


def _check_protocols(config: BrokerConfig) -> None:
    option = "group.coordinator.rebalance.protocols"
    protocols = config.values.get(option, ["classic"])
    assert isinstance(protocols, list)
    if "classic" not in [each.lower() for each in protocols]:
        raise NamelessConfigError("Disabling the 'classic' protocol is not supported.", about=option)
    acks, factor = "offsets.commit.required.acks", "offsets.topic.replication.factor"
    if acks in config.values:
        _require(
            -1 <= _number(config[acks]) <= _number(config[factor]),
            f"{acks} must be greater or equal -1 and less or equal to {factor}",
        )


def _check_migration(config: BrokerConfig) -> None:
    migration, connect = "zookeeper.metadata.migration.enable", "zookeeper.connect"
    if config.values.get(migration) and not config.behaviour.zookeeper and connect not in config.overrides:
        raise ConfigError(f"If using `{migration}` in KRaft mode, `{connect}` must also be set.")


# Logs and replicas.


def _check_log(config: BrokerConfig) -> None:
    _require(_number(config["log.roll.ms"], default=1) >= 1, "log.roll.ms must be greater than or equal to 1")
    _require(_number(config["log.roll.jitter.ms"]) >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    _require(retention_ms(config) != 0, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    threads = "log.cleaner.threads"
    cleaners = _number(config[threads])
    if cleaners == 0:
        raise NamelessConfigError("/ by zero", about=threads)
    _require(
        _number(config["log.cleaner.dedupe.buffer.size"]) // cleaners > _DEDUPE_BYTES_PER_THREAD,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )


def retention_ms(config: BrokerConfig) -> int:
    """Return the retention of logs by the broker's configurations of any unit; -1 for no limit of time."""
    for option, milliseconds in (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ):
        value = config[option]
        if isinstance(value, int):
            return -1 if value < 0 else value * milliseconds
    return -1


def _check_cordoned(config: BrokerConfig) -> None:
    option = "cordoned.log.dirs"
    cordoned, directories = config[option], config["log.dirs"] or config["log.dir"]
    assert isinstance(cordoned, list)
    _require("*" not in cordoned or len(cordoned) == 1, f"When {option} is set to *, it must not contain other values")
    known = directories if isinstance(directories, list) else str(directories).split(",")
    missing = [each for each in cordoned if each != "*" and each not in known]
    _require(
        not missing,
        f"All entries in {option} must be present in log.dirs or log.dir. Missing entries : {', '.join(missing)}",
    )


def _check_replicas(config: BrokerConfig) -> None:
    wait, timeout, lag = "replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "replica.lag.time.max.ms"
    _require(
        _number(config[wait]) <= _number(config[timeout]),
        f"{timeout} should always be at least {wait} to prevent unnecessary socket timeouts",
    )
    _require(
        _number(config[wait]) <= _number(config[lag]),
        f"{wait} should always be less than or equal to {lag} to prevent frequent changes in ISR",
    )


# The network.


def _check_network(config: BrokerConfig) -> None:
    queued, largest = "queued.max.request.bytes", "socket.request.max.bytes"
    _require(
        not 0 < _number(config[queued]) < _number(config[largest]), f"{queued} must be larger or equal to {largest}"
    )
    per_ip = "max.connections.per.ip"
    if _number(config[per_ip]) == 0:
        _require(
            bool(str(config[f"{per_ip}.overrides"])),
            f"{per_ip} can be set to zero only if {per_ip}.overrides property is set.",
        )
    wrong = [address for address in connection_overrides(config) if not _HOST.fullmatch(address)]
    if wrong:
        raise ConfigError(f"{per_ip}.overrides contains invalid addresses : {','.join(wrong)}")
    delay, idle = "connection.failed.authentication.delay.ms", "connections.max.idle.ms"
    if _number(config[idle]) >= 0 and delay in config.values:
        _require(
            _number(config[delay]) < _number(config[idle]),
            f"{delay}={config[delay]} should always be less than {idle}={config[idle]} to prevent failed"
            " authentication responses from timing out",
        )
