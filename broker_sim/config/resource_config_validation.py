"""Validates the configurations of groups and of client metrics subscriptions.

Mirrors GroupConfig and ClientMetricsConfigs.

Both raise ConfigError with Kafka's texts, and MalformedConfig where Kafka returns INVALID_REQUEST.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.config.cross_field_validation import check_bounds
from broker_sim.config.definitions import ConfigValue, client_metrics_definitions, group_definitions
from broker_sim.config.java_text import java_split
from broker_sim.config.topic_config_validation import validation_order
from broker_sim.config.values import TRIMMED, ConfigValueError, parse_value
from broker_sim.errors import ConfigError
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig

INTERVAL_MS_MIN: Final = 100
INTERVAL_MS_MAX: Final = 3_600_000
_MATCHED: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


class MalformedConfig(ConfigError):
    """A configuration that Kafka takes for a mistake of the request."""


def validate_client_metrics(name: str, configs: Mapping[str, str], release: str) -> None:
    """Validate a subscription. Mirrors ClientMetricsConfigs.validate.

    Raises:
        ConfigValueError: A value is invalid.
        MalformedConfig: The subscription has no name, an unknown configuration or an invalid interval.
    """
    if not name:
        raise MalformedConfig("Subscription name can't be empty")
    definitions = client_metrics_definitions(release)
    for key in validation_order(configs, release):
        if key not in definitions:
            msg = f"Unknown client metrics configuration: {key}"
            raise MalformedConfig(msg)
    values = {key: parse_value(definitions[key], text) for key, text in configs.items()}
    interval_ms = values.get("interval.ms", INTERVAL_MS_MIN)
    if "interval.ms" in configs and not definitions["match"].empty_items_refused:
        text = configs["interval.ms"]
        if text != text.strip(TRIMMED):  # 3.x reads the text itself as a number
            raise ConfigValueError("interval.ms", text, "Not a number of type INT")
    if not isinstance(interval_ms, int) or not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        msg = f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        raise MalformedConfig(msg)
    patterns = values.get("match", [])
    assert isinstance(patterns, list)
    if "match" in configs and not definitions["match"].empty_items_refused:
        patterns = java_split(configs["match"])  # 3.x splits the text itself
    for pattern in patterns:
        _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    parts = pattern.split("=")
    while len(parts) > 1 and not parts[-1]:  # as Java's split
        parts.pop()
    if len(parts) == 2 and parts[0].strip() in _MATCHED:
        try:
            re.compile(parts[1].strip())
        except re.error:
            pass
        else:
            return
    msg = f"Illegal client matching pattern: {pattern}"
    raise ConfigError(msg)


GROUP_DEFAULTS: Final = 11
"""The number of defaults in the table in which Kafka validates a group's configurations."""


def validate_group(name: str, configs: Mapping[str, str], config: BrokerConfig) -> None:
    """Validate a group's configurations; `config` has the bounds. Mirrors GroupConfig.validate.

    Raises:
        ConfigError: A value is invalid or out of bounds.
        MalformedConfig: The group's name is empty.
    """
    if not name:
        raise MalformedConfig("Default group resources are not allowed.")
    definitions = group_definitions(config.release)
    for key in hash_order(configs, beside=GROUP_DEFAULTS):
        if key not in definitions:
            msg = f"Unknown group config name: {key}"
            raise ConfigError(msg)
    values: dict[str, ConfigValue] = {}
    for key in _DEFINED_ORDER:
        definition = definitions.get(key)
        if definition is None:
            continue  # it came later
        if key in configs:
            values[key] = parse_value(definition, configs[key])
        else:
            synonym = definition.synonyms[0].name if definition.synonyms else ""
            values[key] = config.values.get(synonym, definition.default)
    for key, lowest, highest in _BOUNDS:
        if key not in values:
            continue  # it came later
        check_bounds(key, values[key], config, lowest, highest)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in values and _number(values[session]) <= _number(values[heartbeat]):
            msg = f"{session} must be greater than {heartbeat}"
            raise ConfigError(msg)


def _number(value: ConfigValue) -> int:
    assert isinstance(value, int)
    return value


_DEFINED_ORDER: Final = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms",
    "share.session.timeout.ms",
    "share.heartbeat.interval.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.auto.offset.reset",
    "share.isolation.level",
    "share.renew.acknowledge.enable",
    "share.assignment.interval.ms",
    "streams.session.timeout.ms",
    "streams.heartbeat.interval.ms",
    "streams.num.standby.replicas",
    "streams.initial.rebalance.delay.ms",
    "streams.assignment.interval.ms",
)
"""The order in which Kafka defines them: of several values that are no values of their type, the first is reported."""


def _bounds(name: str) -> tuple[str, str, str]:
    """Return a configuration with the broker's that are its bounds."""
    kind, _, key = name.partition(".")
    return name, f"group.{kind}.min.{key}", f"group.{kind}.max.{key}"


_BOUNDS: Final[tuple[tuple[str, str | None, str | None], ...]] = (
    _bounds("consumer.heartbeat.interval.ms"),
    _bounds("consumer.session.timeout.ms"),
    _bounds("consumer.assignment.interval.ms"),
    _bounds("share.heartbeat.interval.ms"),
    _bounds("share.session.timeout.ms"),
    _bounds("share.record.lock.duration.ms"),
    _bounds("share.delivery.count.limit"),
    _bounds("share.partition.max.record.locks"),
    _bounds("share.assignment.interval.ms"),
    _bounds("streams.heartbeat.interval.ms"),
    _bounds("streams.session.timeout.ms"),
    ("streams.num.standby.replicas", None, "group.streams.max.standby.replicas"),
    _bounds("streams.assignment.interval.ms"),
)
"""In the order in which Kafka checks them."""
