"""Configurations: describe, alter, list. Mirrors KafkaAdminClient's calls of these names; KIP-133, KIP-339, KIP-1142.

What belongs to one broker (its configurations, its loggers) goes to that broker, everything else to any node.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from broker_client.config.value_parsing import config_text
from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import ANY, BrokerRoute
from broker_client.errors import ConfigError, UnsupportedVersion
from protocol_specs.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol_specs.messages.list_config_resources import ListConfigResourcesRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.config.value_parsing import ConfigText
    from protocol_specs.messages.list_config_resources import ListConfigResourcesResponse

__all__ = [
    "AlterConfigOp",
    "ConfigCalls",
    "ConfigEntry",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
]


_TYPES_FROM: Final = 1


class ConfigResourceType(IntEnum):
    """The kinds of resources with configurations. Mirrors ConfigResource.Type."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from. Mirrors ConfigEntry.ConfigSource."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigType(IntEnum):
    """The type of a value; UNKNOWN from brokers before 2.6. Mirrors ConfigEntry.ConfigType."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigOperation(IntEnum):
    """The change of a value; the last two are for lists. Mirrors AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """A topic by name, a broker or its loggers by id ("" is the default of all brokers), ... Mirrors ConfigResource."""

    type: ConfigResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name} {self.name!r}"

    @classmethod
    def topic(cls, name: str) -> ConfigResource:
        """A topic."""
        return cls(ConfigResourceType.TOPIC, name)

    @classmethod
    def broker(cls, broker_id: int | None) -> ConfigResource:
        """A broker; None is the dynamic default of all of them."""
        return cls(ConfigResourceType.BROKER, "" if broker_id is None else str(broker_id))

    @classmethod
    def group(cls, group_id: str) -> ConfigResource:
        """A consumer, share or streams group; its configurations may exist before the group does."""
        return cls(ConfigResourceType.GROUP, group_id)


@dataclass(slots=True, kw_only=True, frozen=True)
class ConfigSynonym:
    """A configuration that would count if those before it were not there. Mirrors ConfigEntry.ConfigSynonym."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(slots=True, kw_only=True, frozen=True)
class ConfigEntry:
    """One configuration; the value is None where it is sensitive or has none. Mirrors ConfigEntry."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ConfigType = ConfigType.UNKNOWN
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """True if it is the default."""
        return self.source is ConfigSource.DEFAULT_CONFIG


@dataclass(slots=True, kw_only=True, frozen=True)
class AlterConfigOp:
    """One change; DELETE needs no value, APPEND and SUBTRACT take commas between several. Mirrors AlterConfigOp."""

    name: str
    value: ConfigText | None = None
    operation: ConfigOperation = ConfigOperation.SET


def _alterable(change: AlterConfigOp) -> AlterableConfig:
    value = None if change.value is None else config_text(change.name, change.value)
    return AlterableConfig(name=change.name, config_operation=change.operation, value=value)


def _broker_of(resource: ConfigResource) -> int | None:
    """Mirrors KafkaAdminClient.nodeFor."""
    of_broker = resource.type is ConfigResourceType.BROKER_LOGGER or (
        resource.type is ConfigResourceType.BROKER and resource.name != ""
    )
    if not of_broker:
        return None
    if not resource.name.isascii() or not resource.name.isdigit():
        raise ConfigError(f"{resource}: expected a broker's id, a number")
    return int(resource.name)


_ROUTE: Final = BrokerRoute(_broker_of)


class ConfigCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        *,
        names: Sequence[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """The configurations of each resource by name, or of `names` alone; raises ItemsFailed by resource."""
        _check(resources)

        def build(version: int, requested: list[ConfigResource], timeout_ms: int) -> DescribeConfigsRequest:
            del version, timeout_ms
            return DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configuration_keys=None if names is None else list(names),
                    )
                    for resource in requested
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )

        def take(
            response: Any, _: list[ConfigResource], outcomes: Outcomes[ConfigResource, dict[str, ConfigEntry]]
        ) -> None:
            for result in response.results:
                resource = ConfigResource(_member(ConfigResourceType, result.resource_type), result.resource_name)
                entries = {one.name: _entry(one, resource.type) for one in result.configs}
                outcomes.take(resource, result.error_code, result.error_message, entries)

        call = ItemCall(kind=DescribeConfigsRequest, route=_ROUTE, build=build, take=take)
        return await self._calls.settle(list(resources), call)

    async def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[AlterConfigOp]], *, validate_only: bool = False
    ) -> None:
        """Change single configurations, or only try; raises ItemsFailed by resource."""
        _check(list(changes))
        altered = {resource: [_alterable(one) for one in of_resource] for resource, of_resource in changes.items()}

        def build(version: int, requested: list[ConfigResource], timeout_ms: int) -> IncrementalAlterConfigsRequest:
            del version, timeout_ms
            return IncrementalAlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=altered[resource],
                    )
                    for resource in requested
                ],
                validate_only=validate_only,
            )

        def take(response: Any, _: list[ConfigResource], outcomes: Outcomes[ConfigResource, None]) -> None:
            for result in response.responses:
                resource = ConfigResource(_member(ConfigResourceType, result.resource_type), result.resource_name)
                outcomes.take(resource, result.error_code, result.error_message, None)

        call = ItemCall(kind=IncrementalAlterConfigsRequest, route=_ROUTE, build=build, take=take)
        await self._calls.settle(list(changes), call)

    async def list_config_resources(self, types: Sequence[ConfigResourceType] = ()) -> list[ConfigResource]:
        """The resources that have configurations of their own, of all types or of `types`; from 3.7 and 4.1 on."""

        def build(version: int, timeout_ms: int) -> ListConfigResourcesRequest:
            del timeout_ms
            if version >= _TYPES_FROM:
                return ListConfigResourcesRequest(resource_types=[int(one) for one in types])
            if list(types) != [ConfigResourceType.CLIENT_METRICS]:
                raise UnsupportedVersion(
                    f"ListConfigResources v{version} lists CLIENT_METRICS alone: name that type, or use brokers of "
                    f"Kafka 4.1, which speak v{_TYPES_FROM}"
                )
            return ListConfigResourcesRequest()

        response: ListConfigResourcesResponse = await self._calls.request(
            ListConfigResourcesRequest,
            build,
            route=ANY,
            error=lambda response: (response.error_code, None),
        )
        return sorted(
            ConfigResource(_member(ConfigResourceType, one.resource_type), one.resource_name)
            for one in response.config_resources
        )

    async def describe_topic_configs(self, name: str) -> dict[str, ConfigEntry]:
        """The effective configurations of a topic, by name."""
        resource = ConfigResource.topic(name)
        return (await self.describe_configs([resource]))[resource]

    async def describe_broker_configs(self, broker_id: int) -> dict[str, ConfigEntry]:
        """The effective configurations of a broker, by name."""
        resource = ConfigResource.broker(broker_id)
        return (await self.describe_configs([resource]))[resource]


def _check(resources: Sequence[ConfigResource]) -> None:
    for resource in resources:
        _broker_of(resource)


_Member = TypeVar("_Member", bound=IntEnum)


def _member(kind: type[_Member], number: int) -> _Member:
    """A number that this release does not know is reported as UNKNOWN, as in Java."""
    try:
        return kind(number)
    except ValueError:
        return kind(0)


def _entry(one: DescribeConfigsResourceResult, of: ConfigResourceType) -> ConfigEntry:
    return ConfigEntry(
        name=one.name,
        value=one.value,
        source=_source(one, of),
        read_only=one.read_only,
        sensitive=one.is_sensitive,
        synonyms=tuple(
            ConfigSynonym(name=synonym.name, value=synonym.value, source=_member(ConfigSource, synonym.source))
            for synonym in one.synonyms
        ),
        type=_member(ConfigType, one.config_type),
        documentation=one.documentation,
    )


def _source(one: DescribeConfigsResourceResult, of: ConfigResourceType) -> ConfigSource:
    """Brokers before 1.1 report only whether a value is the default. Mirrors DescribeConfigsResponse of 2.x."""
    if one.config_source >= 0:
        return _member(ConfigSource, one.config_source)
    if one.is_default:
        return ConfigSource.DEFAULT_CONFIG
    if of is ConfigResourceType.BROKER:
        return ConfigSource.STATIC_BROKER_CONFIG
    return ConfigSource.DYNAMIC_TOPIC_CONFIG if of is ConfigResourceType.TOPIC else ConfigSource.UNKNOWN
