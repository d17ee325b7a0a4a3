"""Configurations in CreateTopics and DescribeConfigs responses: value, source, synonyms. Mirrors ConfigHelper and
KafkaConfigSchema.

A value comes from the first of: the topic (group, subscription), the broker's dynamic configuration, that of all
brokers, the broker's file, the default.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.config.broker_config_validation import QUOTAS
from broker_sim.config.config_names import base_name, synonyms_of
from broker_sim.config.definitions import (
    ConfigDefinition,
    ConfigType,
    broker_definitions,
    client_metrics_definitions,
    describe_order,
    group_definitions,
    topic_definitions,
)
from broker_sim.config.listing_order import listing_order
from broker_sim.config.simulator_configs import SIMULATOR_DEFINITIONS
from broker_sim.config.topic_config import TopicConfig
from broker_sim.config.values import parse_integer, parse_value, render_value
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.create_topics import CreatableTopicConfigs
from protocol_specs.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_sim.config.broker_config import BrokerConfig


class ConfigSource(IntEnum):
    """The source of a value. Mirrors DescribeConfigsResponse.ConfigSource."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class _Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


_UNKNOWN_TYPE: Final = 0


def created_topic_entries(overrides: Mapping[str, str], config: BrokerConfig) -> list[CreatableTopicConfigs]:
    """Return a topic's configurations as in CreateTopics responses: by name, with the topic's own texts."""
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
    for texts, source in (
        (config.dynamic_own, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (config.dynamic_defaults, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (config.static, ConfigSource.STATIC_BROKER_CONFIG),
    ):
        for synonym in definition.synonyms:
            if synonym.name in texts:
                text = texts[synonym.name]
                if synonym.times != 1:  # ConfigSynonym's converters return 0 for a text that is no int32.
                    text = str((parse_integer(text, 32) or 0) * synonym.times)
                return text, source
    return render_value(definition, definition.default), ConfigSource.DEFAULT_CONFIG


class ConfigDescriber:
    """Describes one broker's configurations. `identity` is the part of its file from the cluster: ids, listeners."""

    __slots__ = ("_config", "_documentation", "_identity", "_layers", "_synonyms")

    def __init__(
        self,
        config: BrokerConfig,
        identity: Mapping[str, str],
        *,
        include_synonyms: bool,
        include_documentation: bool,
    ) -> None:
        self._config = config
        self._layers: tuple[tuple[Mapping[str, str], ConfigSource], ...] = (
            (config.dynamic_own, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (config.dynamic_defaults, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            ({**identity, **config.static}, ConfigSource.STATIC_BROKER_CONFIG),
        )
        self._identity = identity
        self._synonyms = include_synonyms
        self._documentation = include_documentation

    def topic(self, overrides: Mapping[str, str], keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """Return all, or the requested, configurations of a topic with these overrides."""
        definitions = topic_definitions(self._config.release)
        resolved = TopicConfig.resolve(overrides, self._config)
        hidden = [name for name in overrides if name in definitions and not definitions[name].shown]
        entries = []
        for name in self._names("topic", keys, hidden):
            definition = definitions[name]
            value = overrides[name] if name in hidden else render_value(definition, resolved[name])
            synonyms = self._broker_synonyms(definition.synonyms[0].name) if definition.synonyms else []
            if name in overrides:
                synonyms.insert(0, _Synonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG))
            entries.append(self._entry(definition, value, synonyms, read_only=False))
        return entries

    def broker(self, keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """Return all, or the requested, configurations of this broker, and the unknown ones of its file."""
        definitions = broker_definitions(self._config.release)
        given = dict.fromkeys([*self._config.static, *self._config.dynamic_defaults, *self._config.dynamic_own])
        others = [
            name
            for name in given
            if name not in SIMULATOR_DEFINITIONS and not (name in definitions and definitions[name].shown)
        ]
        entries = []
        for name in self._names("broker", keys, others):
            synonyms = self._broker_synonyms(name)
            if name not in definitions:
                entries.append(self._unknown(name, synonyms))
                continue
            definition = definitions[name]
            value: str | None = self._identity.get(name)
            if value is None or name in self._config.overrides:
                value = render_value(definition, self._config[name])
            if definition.sensitive:
                value = None
            entries.append(self._entry(definition, value, synonyms, read_only=definition.read_only))
        return entries

    def cluster_default(self, keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """Return the dynamic configurations of all brokers: the resource with the empty name."""
        definitions = broker_definitions(self._config.release)
        requested = frozenset(keys or ())
        given = self._config.dynamic_defaults
        wanted = [name for name in hash_order(given) if not requested or name in requested]
        entries = []
        for name in listing_order("broker", self._config.release, (), wanted):
            value = given[name]
            definition = definitions.get(name)
            source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            synonyms = [each for each in self._broker_synonyms(name) if each.source is source]
            if definition is None:
                entries.append(self._unknown(name, synonyms))
            else:
                shown = None if definition.sensitive else value
                entries.append(self._entry(definition, shown, synonyms, read_only=definition.read_only))
        return entries

    def client_metrics(
        self, overrides: Mapping[str, str], keys: Iterable[str] | None
    ) -> list[DescribeConfigsResourceResult]:
        """Return a subscription with these configurations; 3.x lists these alone, and all requested names."""
        definitions = client_metrics_definitions(self._config.release)
        source = ConfigSource.CLIENT_METRICS_CONFIG
        if not self._config.behaviour.describes_groups:
            return [
                DescribeConfigsResourceResult(name=name, value=overrides[name], config_source=source, documentation="")
                for name in hash_order(overrides)
            ]
        entries = []
        for name in self._names("client_metrics", keys):
            definition = definitions[name]
            given = parse_value(definition, overrides[name]) if name in overrides else definition.default
            value = render_value(definition, given)
            synonyms = [_Synonym(name, value, source)] if name in overrides else []
            entries.append(self._entry(definition, value, synonyms))
        return entries

    def group(self, overrides: Mapping[str, str], keys: Iterable[str] | None) -> list[DescribeConfigsResourceResult]:
        """A group with these configurations; the rest comes from the broker."""
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
            if name in overrides:
                value = render_value(definition, parse_value(definition, overrides[name]))
                synonyms.insert(0, _Synonym(name, value, ConfigSource.GROUP_CONFIG))
            entries.append(self._entry(definition, value, synonyms))
        return entries

    def _names(self, kind: str, keys: Iterable[str] | None, others: Sequence[str] = ()) -> list[str]:
        """Return the names of a kind, and others, in Kafka's order; an empty list of keys means all, as null does."""
        requested = frozenset(keys or ())
        whole = describe_order(kind, self._config.release)
        known, besides = list(whole), hash_order(others)
        if requested:
            known, besides = ([name for name in names if name in requested] for names in (known, besides))
        return listing_order(kind, self._config.release, known, besides)

    def _broker_synonyms(self, name: str) -> list[_Synonym]:
        """A broker configuration and its other names by precedence of source, from the first that has its own name."""
        names = synonyms_of(name)
        definitions = broker_definitions(self._config.release)
        hidden = self._is_hidden(name)
        found = [
            _Synonym(other, None if hidden else texts[other], source)
            for texts, source in self._layers
            for other in names
            if other in texts
        ]
        for other in names:
            definition = definitions.get(other)
            value = None if definition is None else render_value(definition, definition.default)
            if value is not None:
                found.append(_Synonym(other, None if hidden else value, ConfigSource.DEFAULT_CONFIG))
        first = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
        return found[first:]

    def _is_hidden(self, name: str) -> bool:
        """True if the value is redacted in responses: passwords and values of unknown type."""
        if name in QUOTAS:
            return False
        definition = broker_definitions(self._config.release).get(base_name(name))
        return definition is None or definition.sensitive

    def _unknown(self, name: str, synonyms: list[_Synonym]) -> DescribeConfigsResourceResult:
        """Return a listener's or an unknown configuration: with the synonyms of the one it overrides, and read-only."""
        definition = broker_definitions(self._config.release).get(base_name(name))
        kind: int = _UNKNOWN_TYPE if definition is None else definition.type
        if name in QUOTAS:
            kind = ConfigType.LONG
        return DescribeConfigsResourceResult(
            name=name,
            value=synonyms[0].value if synonyms else None,
            read_only=name not in QUOTAS or self._config.behaviour.scala_collections_in_messages,
            config_source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
            is_sensitive=self._is_hidden(name),
            synonyms=self._shown(synonyms),
            config_type=kind,
            documentation=None,
        )

    def _shown(self, synonyms: list[_Synonym]) -> list[DescribeConfigsSynonym]:
        requested = synonyms if self._synonyms else []
        return [DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source) for each in requested]

    def _entry(
        self, definition: ConfigDefinition, value: str | None, synonyms: list[_Synonym], *, read_only: bool = False
    ) -> DescribeConfigsResourceResult:
        return DescribeConfigsResourceResult(
            name=definition.name,
            value=value,
            read_only=read_only,
            config_source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
            is_sensitive=definition.sensitive,
            synonyms=self._shown(synonyms),
            config_type=definition.type,
            documentation=_documentation(definition) if self._documentation else None,
        )


def _documentation(definition: ConfigDefinition) -> str:
    """Return the simulator's own documentation: type, range and default."""
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
