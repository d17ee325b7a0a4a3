"""The metadata mode of a cluster: ZooKeeper or a KRaft quorum (KIP-500), by release and configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.errors import ConfigError
from protocol_specs import releases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.release_behaviour import ReleaseBehaviour

ZOOKEEPER_CONNECT: Final = "zookeeper.connect"


def in_mode(behaviour: ReleaseBehaviour, overrides: Mapping[str, str]) -> ReleaseBehaviour:
    """Return the behaviour in ZooKeeper mode if the configuration names a ZooKeeper, else unchanged.

    Raises:
        ConfigError: The release has no ZooKeeper mode.
    """
    if ZOOKEEPER_CONNECT not in overrides or behaviour.zookeeper:
        return behaviour
    if all(table.mode is not releases.Mode.ZOOKEEPER for table in releases.modes(behaviour.release)):
        msg = f"{ZOOKEEPER_CONNECT}: release {behaviour.release} has no ZooKeeper mode; 3.9 was the last that had one"
        raise ConfigError(msg)
    return replace(behaviour, zookeeper=True)


def table_of(behaviour: ReleaseBehaviour) -> releases.Release:
    """The APIs and features of a release in the mode that it runs in."""
    return releases.get(behaviour.release, releases.Mode.ZOOKEEPER if behaviour.zookeeper else None)
