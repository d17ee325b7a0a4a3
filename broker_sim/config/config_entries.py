"""How CreateTopics and DescribeConfigs show configurations: value, source, synonyms. Mirrors ConfigHelper and
KafkaConfigSchema.

A value comes from the first of: the topic, the broker's dynamic configuration, the cluster's (`min.insync.replicas`
of a new 4.x cluster), the broker's file, the default.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.config.definitions import (
    ConfigDefinition,
    broker_definitions,
    client_metrics_definitions,
    describe_order,
    group_definitions,
    topic_definitions,
)
from broker_sim.config.topic_config import TopicConfig
from broker_sim.config.values import render_value
from protocol_specs.messages.create_topics import CreatableTopicConfigs
from protocol_specs.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.config.broker_config import BrokerConfig


class ConfigSource(IntEnum):
    """Where a value comes from. Mirrors DescribeConfigsResponse.ConfigSource."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6


class _Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


_SYNONYM_GROUPS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"


def created_topic_entries(overrides: Mapping[str, str], config: BrokerConfig) -> list[CreatableTopicConfigs]:
    """The configurations of a topic as CreateTopics answers them: by name, the topic's own in the words it gave."""
    entries: list[CreatableTopicConfigs] = []
    for name, definition in topic_definitions(config.release).items():
        if name in overrides:
            value: str | None = overrides[name]
            source = ConfigSource.DYNAMIC_TOPIC_CONFIG
        elif not definition.shown:
            continue
        else:
            value, source = _inherited(definition, config)
        entries.append(
            CreatableTopicConfigs(
                name=name, value=value, read_only=False, config_source=source, is_sensitive=definition.sensitive
            )
        )
    return entries


def _inherited(definition: ConfigDefinition, config: BrokerConfig) -> tuple[str | None, ConfigSource]:
    for synonym in definition.synonyms:
        dynamic = dynamic_defaults(config).get(synonym.name)
        if dynamic is not None:
            return dynamic, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        if synonym.name in config.overrides:
            text = config.overrides[synonym.name]
            if synonym.times != 1:
                text = str(int(text) * synonym.times)
            return text, ConfigSource.STATIC_BROKER_CONFIG
    return render_value(definition, definition.default), ConfigSource.DEFAULT_CONFIG


def dynamic_defaults(config: BrokerConfig) -> dict[str, str]:
    """The cluster-wide dynamic configuration, as text."""
    if config.behaviour.min_insync_replicas_is_dynamic_default:
        return {_MIN_INSYNC_REPLICAS: str(config.min_insync_replicas)}
    return {}


class ConfigDescriber:
    """Describes what one broker knows. `identity` is the part of its file that the cluster wrote: ids, listeners."""

    __slots__ = ("_config", "_documentation", "_static", "_synonyms")

    def __init__(
        self,
        config: BrokerConfig,
        identity: Mapping[str, str],
        *,
        include_synonyms: bool,
        include_documentation: bool,
    ) -> None:
        self._config = config
        self._static = {**identity, **config.overrides}
        self._synonyms = include_synonyms
        self._documentation = include_documentation

    def topic(self, overrides: Mapping[str, str], keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """All, or the asked, configurations of a topic with these overrides."""
        definitions = topic_definitions(self._config.release)
        resolved = TopicConfig.resolve(overrides, self._config)
        entries = []
        for name in self._names("topic", keys):
            definition = definitions[name]
            value = render_value(definition, resolved[name])
            synonyms = self._broker_synonyms(definition.synonyms[0].name) if definition.synonyms else []
            if name in overrides:
                synonyms.insert(0, _Synonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG))
            entries.append(self._entry(definition, value, synonyms, read_only=False))
        return entries

    def broker(self, keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """All, or the asked, configurations of this broker."""
        definitions = broker_definitions(self._config.release)
        dynamic = dynamic_defaults(self._config)
        entries = []
        for name in self._names("broker", keys):
            definition = definitions[name]
            value = dynamic.get(name, self._static.get(name))
            if value is None or name in self._config.overrides:
                value = render_value(definition, self._config[name])
            if definition.sensitive:
                value = None
            entries.append(self._entry(definition, value, self._broker_synonyms(name), read_only=definition.read_only))
        return entries

    def cluster_default(self, keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """What is set dynamically for all brokers: the resource with the empty name."""
        definitions = broker_definitions(self._config.release)
        asked = None if keys is None else list(keys)
        return [
            self._entry(
                definitions[name],
                value,
                [_Synonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)],
                read_only=False,
            )
            for name, value in dynamic_defaults(self._config).items()
            if not asked or name in asked
        ]

    def client_metrics(self, keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """The defaults of a subscription that nobody has made; 3.x lists nothing then."""
        definitions = client_metrics_definitions(self._config.release)
        return [
            self._entry(definitions[name], render_value(definitions[name], definitions[name].default), [])
            for name in self._names("client_metrics", keys)
        ]

    def group(self, keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """The defaults of a group without configurations of its own."""
        definitions = group_definitions(self._config.release)
        entries = []
        for name in self._names("group", keys):
            definition = definitions[name]
            value = render_value(definition, definition.default)
            broker_name = definition.synonyms[0].name if definition.synonyms else name
            if broker_name in self._config.values:
                synonyms = self._broker_synonyms(broker_name)
                value = synonyms[0].value if synonyms else value
            else:
                synonyms = [_Synonym(broker_name, value, ConfigSource.DEFAULT_CONFIG)]
            entries.append(self._entry(definition, value, synonyms))
        return entries

    def _names(self, kind: str, keys: Iterable[str] | None) -> list[str]:
        """The names of a kind in Kafka's order; an empty list of keys asks for all of them, as null does."""
        asked = frozenset(keys or ())
        order = describe_order(kind, self._config.release)
        return [name for name in order if name in asked] if asked else list(order)

    def _broker_synonyms(self, name: str) -> list[_Synonym]:
        """A broker configuration and its other names by precedence of source, from the first that has its own name."""
        names = next((group for group in _SYNONYM_GROUPS if name in group), (name,))
        definitions = broker_definitions(self._config.release)
        dynamic = dynamic_defaults(self._config)
        found: list[_Synonym] = []
        for source in (
            ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
            ConfigSource.STATIC_BROKER_CONFIG,
            ConfigSource.DEFAULT_CONFIG,
        ):
            for other in names:
                definition = definitions.get(other)
                if source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG:
                    value = dynamic.get(other)
                elif source is ConfigSource.STATIC_BROKER_CONFIG:
                    value = self._static.get(other)
                else:
                    value = None if definition is None else render_value(definition, definition.default)
                if value is not None:
                    hidden = definition is not None and definition.sensitive
                    found.append(_Synonym(other, None if hidden else value, source))
        first = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
        return found[first:]

    def _entry(
        self, definition: ConfigDefinition, value: str | None, synonyms: list[_Synonym], *, read_only: bool = False
    ) -> DescribeConfigsResourceResult:
        return DescribeConfigsResourceResult(
            name=definition.name,
            value=value,
            read_only=read_only,
            config_source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
            is_sensitive=definition.sensitive,
            synonyms=[
                DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
                for synonym in (synonyms if self._synonyms else ())
            ],
            config_type=definition.type,
            documentation=_documentation(definition) if self._documentation else None,
        )


def _documentation(definition: ConfigDefinition) -> str:
    """Our own words: type, range and default."""
    parts = [f"{definition.name}: {definition.type.name.lower()}"]
    if definition.minimum is not None:
        parts.append(f"at least {definition.minimum}")
    if definition.maximum is not None:
        parts.append(f"at most {definition.maximum}")
    choices = definition.one_of or definition.list_of
    if choices:
        parts.append(f"one of {', '.join(choices)}" if definition.one_of else f"a list of {', '.join(choices)}")
    default = render_value(definition, definition.default)
    parts.append("no default" if default is None else f"default {default!r}")
    return "; ".join(parts)
