"""Validates the overrides of a topic, with Kafka's error texts. Mirrors LogConfig.validate.

Names are checked before values, and values in the order in which LogConfig defines them: the first error is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.config.definitions import ConfigValue, topic_definitions
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.config.values import parse_value
from broker_sim.errors import ConfigError
from protocol_specs.java_hash import concurrent_hash_order, hash_order, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DEFINITION_ORDER: Final = (
    "segment.bytes",
    "segment.ms",
    "segment.jitter.ms",
    "segment.index.bytes",
    "flush.messages",
    "flush.ms",
    "retention.bytes",
    "retention.ms",
    "max.message.bytes",
    "index.interval.bytes",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "min.cleanable.dirty.ratio",
    "cleanup.policy",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "preallocate",
    "message.format.version",
    "message.timestamp.type",
    "message.timestamp.difference.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "message.downconversion.enable",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "internal.segment.bytes",
)


def validation_order(configs: Iterable[str], release: str) -> list[str]:
    """Return the names of configurations in the order in which a release looks for the first unknown one.

    Their given order is that in which Kafka puts them into the table that it validates.
    """
    return (
        concurrent_hash_order(configs, string_hash)
        if behaviour_of(release).validates_properties
        else hash_order(configs)
    )


def validate_topic_overrides(overrides: Mapping[str, str], release: str) -> None:
    """Raise ConfigError, with Kafka's text, for the first override that a new topic cannot have."""
    definitions = topic_definitions(release)
    for name in validation_order(overrides, release):
        if name not in definitions:
            msg = f"Unknown topic config name: {name}"
            raise ConfigError(msg)
    values: dict[str, ConfigValue] = {}
    for name in _DEFINITION_ORDER:
        if name in definitions:
            definition = definitions[name]
            values[name] = parse_value(definition, overrides[name]) if name in overrides else definition.default
    if values.get("remote.storage.enable"):
        msg = (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
        raise ConfigError(msg)
    minimum, maximum = values.get("min.compaction.lag.ms"), values.get("max.compaction.lag.ms")
    if isinstance(minimum, int) and isinstance(maximum, int) and minimum > maximum:
        msg = f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})"
        raise ConfigError(msg)
