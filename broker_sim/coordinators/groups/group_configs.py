"""The configurations of one group: those of its GROUP resource, else the broker's. Mirrors GroupConfigManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.config_resource import ConfigResource, ResourceType
from broker_sim.config.definitions import group_definitions
from broker_sim.config.values import parse_value

if TYPE_CHECKING:
    from broker_sim.config.definitions import ConfigValue
    from broker_sim.coordinators.runtime.shard import CoordinatorHost

__all__ = ["group_config", "group_config_int"]


def group_config(host: CoordinatorHost, group_id: str, name: str) -> ConfigValue:
    """Return the value of a group's configuration, such as `consumer.session.timeout.ms`."""
    given = host.metadata_cache.image.configs.get(ConfigResource(ResourceType.GROUP, group_id), {})
    if name in given:
        return parse_value(group_definitions(host.config.release)[name], given[name])
    return host.config.values.get(f"group.{name}", 0)


def group_config_int(host: CoordinatorHost, group_id: str, name: str) -> int:
    """Return a number of `group_config`; 0 in a release that does not have it."""
    value = group_config(host, group_id, name)
    assert isinstance(value, int)
    return value
