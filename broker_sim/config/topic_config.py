"""The configuration of one topic: overrides, then the broker's synonyms, then defaults. Mirrors LogConfig."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Self

from broker_sim.config.definitions import ConfigDefinition, ConfigValue, oldest_definition, topic_definitions
from broker_sim.config.values import parse_value
from broker_sim.errors import ConfigError, nearest, raise_together
from protocol_specs.records.batch_peek import TimestampType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig


# In 3.x the older, common bound holds where a newer one is at its default (KIP-937).
_OLD_TIMESTAMP_BOUND: Final = "message.timestamp.difference.max.ms"
_TIMESTAMP_BOUNDS: Final = ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
_NOT_ATTRIBUTES: Final = {
    "overrides",
    "values",
    "age_timestamp_min",
    "compact",
    "delete",
    "magic",
    "max_segment_ms",
    "plain_batch_bytes_max",
    "timestamp_type",
}
_NO_TIMESTAMP_IS_SO_LARGE: Final = 1 << 63
_UNCHANGED: Final = ("producer", "uncompressed")
"""The compression types with which an uncompressed batch is stored as it is."""
# 4.x refuses a small segment.bytes, and has a name of its own for tests that need one.
_INTERNAL_SEGMENT_BYTES: Final = "internal.segment.bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """Topic configurations by name (`config["segment.ms"]`), the ones used most as attributes too."""

    overrides: Mapping[str, str]
    """The topic's own configurations, as text."""
    values: Mapping[str, ConfigValue]

    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    delete_retention_ms: int
    index_interval_bytes: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_after_max_ms: int
    message_timestamp_before_max_ms: int
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int
    unclean_leader_election_enable: bool

    age_timestamp_min: int
    """The least timestamp by which segments age: any that a record can have, or none where files' times count."""
    compact: bool
    """Whether `cleanup.policy` has `compact`."""
    delete: bool
    """Whether `cleanup.policy` has `delete`."""
    magic: int
    """The format in which records are stored: that of `message.format.version` if it has an effect, else the newest."""
    max_segment_ms: int
    """How long a segment is written to: `segment.ms`, on compacted topics at most `max.compaction.lag.ms`."""
    plain_batch_bytes_max: int
    """The largest batch without compression that the log can store as it is, by this configuration; 0 for none."""
    timestamp_type: TimestampType

    @classmethod
    def resolve(cls, overrides: Mapping[str, str], broker: BrokerConfig) -> Self:
        """Validate the topic's overrides, and take the rest from a broker.

        Raises:
            ConfigError: Names or values are invalid, with a line for each.
        """
        definitions = topic_definitions(broker.release)
        values = {name: _inherited(definition, broker) for name, definition in definitions.items()}
        mistakes: list[ConfigError] = []
        for name, text in overrides.items():
            definition = definitions.get(name)
            if definition is None:
                msg = f"unknown topic configuration {name!r} for release {broker.release}"
                mistakes.append(ConfigError(msg + nearest(name, definitions)))
                continue
            try:
                values[name] = parse_value(definition, text)
            except ConfigError as error:
                mistakes.append(error)
        raise_together(mistakes)
        named: dict[str, ConfigValue] = {}
        for attribute in _ATTRIBUTES:
            name = attribute.replace("_", ".")
            named[attribute] = values[name] if name in values else _without_name(name, broker)
        if _OLD_TIMESTAMP_BOUND in values:
            for bound in _TIMESTAMP_BOUNDS:
                if bound not in values or values[bound] == definitions[bound].default:
                    named[bound.replace(".", "_")] = values[_OLD_TIMESTAMP_BOUND]
        if values.get(_INTERNAL_SEGMENT_BYTES) is not None:
            named["segment_bytes"] = values[_INTERNAL_SEGMENT_BYTES]
        cleanup = values.get("cleanup.policy", _without_name("cleanup.policy", broker))
        policies = cleanup if isinstance(cleanup, list) else [cleanup]
        segment_ms, lag_ms = named["segment_ms"], named["max_compaction_lag_ms"]
        assert isinstance(segment_ms, int)
        assert isinstance(lag_ms, int)
        limit = named["max_message_bytes"]
        assert isinstance(limit, int)
        compact = "compact" in policies
        append_time = values.get("message.timestamp.type") == "LogAppendTime"
        return cls(
            overrides=dict(overrides),
            values=values,
            age_timestamp_min=0 if broker.behaviour.segments_age_by_records else _NO_TIMESTAMP_IS_SO_LARGE,
            compact=compact,
            delete="delete" in policies,
            magic=_magic(values.get("message.format.version"), broker),
            max_segment_ms=min(segment_ms, lag_ms) if compact else segment_ms,
            plain_batch_bytes_max=0 if append_time or named["compression_type"] not in _UNCHANGED else limit,
            timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
            **named,  # type: ignore[arg-type]
        )

    def __getitem__(self, name: str) -> ConfigValue:
        """The typed value of a configuration that the release knows."""
        try:
            return self.values[name]
        except KeyError:
            msg = f"unknown topic configuration {name!r}"
            raise ConfigError(msg + nearest(name, self.values)) from None


def _inherited(definition: ConfigDefinition, broker: BrokerConfig) -> ConfigValue:
    """The first synonym that the broker's operator has set (in the topic's unit), else the default."""
    for synonym in definition.synonyms:
        if synonym.name in broker.overrides:
            value = broker[synonym.name]
            return value * synonym.times if isinstance(value, int) and synonym.times != 1 else value
    return definition.default


def _without_name(name: str, broker: BrokerConfig) -> ConfigValue:
    """Return the behaviour of a release without this configuration: mostly its first default in a later release."""
    if name in _BEFORE_THERE_WAS_A_NAME:
        return _BEFORE_THERE_WAS_A_NAME[name]
    definition = oldest_definition("topic", name)
    assert definition is not None, f"no release has {name}"
    return _inherited(definition, broker)


def _magic(version: ConfigValue, broker: BrokerConfig) -> int:
    """The message format of a `message.format.version`. Mirrors ApiVersion.recordVersion."""
    newest = broker.behaviour.newest_magic
    if not isinstance(version, str) or not broker.behaviour.message_format_version_counts:
        return newest
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0].partition("-")[0]
    return 2 if int(major) or int(minor) >= 11 else int(int(minor) == 10)


# Before 3.8 there are no compression levels; codecs run at their libraries' defaults, which are these.
_BEFORE_THERE_WAS_A_NAME: Final[dict[str, ConfigValue]] = {
    "compression.gzip.level": -1,
    "compression.lz4.level": 9,
    "compression.zstd.level": 3,
}
_ATTRIBUTES: Final = tuple(field.name for field in fields(TopicConfig) if field.name not in _NOT_ATTRIBUTES)
