"""Configurations that make a cluster of tests fast: failover and groups without the waits of Kafka's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from broker_sim.config.definitions import broker_definitions

if TYPE_CHECKING:
    from broker_sim.cluster_input import ConfigInput

__all__ = ["QUICK_FAILOVER", "QUICK_GROUPS", "quick_settings", "with_quick_settings"]

QUICK_FAILOVER: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "200",
    "zookeeper.session.timeout.ms": "1000",
}
"""The configurations of `quick_failover`: the controller notices a killed broker after 1 s, not after Kafka's 9 s.

A release gets those that it has."""

QUICK_GROUPS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "group.share.assignment.interval.ms": "0",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
}
"""The configurations of `quick_groups`: a new group does not wait for more members, as it does 3 s with Kafka's.

A member of a share group is assigned new share partitions with its second heartbeat, 5 s later with Kafka's. Each of
three brokers leads one partition of the offsets topic: a start pays for every partition of it."""


def quick_settings(release: str, *, failover: bool, groups: bool) -> dict[str, str]:
    """Return the configurations of `quick_failover` and `quick_groups` that a release has.

    Raises:
        ConfigError: the release is not emulated.
    """
    known = broker_definitions(release)
    wanted = {**(QUICK_FAILOVER if failover else {}), **(QUICK_GROUPS if groups else {})}
    return {name: value for name, value in wanted.items() if name in known}


def with_quick_settings(
    config: ConfigInput | None, release: str, *, failover: bool, groups: bool
) -> ConfigInput | None:
    """Return a configuration over the quick settings, which it overrides.

    A release that is no text has none, nor a configuration that is no mapping: the cluster refuses both by name. Raises
    ConfigError as `quick_settings`.
    """
    if not (failover or groups) or not _are_usable(config, release):
        return config
    return {**quick_settings(release, failover=failover, groups=groups), **(config or {})}


def _are_usable(config: object, release: object) -> bool:
    return isinstance(release, str) and isinstance(config, Mapping | None)
