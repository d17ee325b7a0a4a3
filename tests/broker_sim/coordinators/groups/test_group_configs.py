"""The configurations of a group, and of the broker where the group has none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.config_resource import ConfigResource, ResourceType
from broker_sim.coordinators.groups.group_configs import group_config_int
from broker_sim.metadata.metadata_image import MetadataImage

NAME = "consumer.session.timeout.ms"


def host(release="4.3.1"):
    configs = {ConfigResource(ResourceType.GROUP, "g"): {NAME: "50000"}}
    image = replace(MetadataImage.empty("c"), configs=configs)
    return SimpleNamespace(metadata_cache=SimpleNamespace(image=image), config=BrokerConfig.parse({}, release=release))


def test_a_group_overrides_the_broker():
    assert group_config_int(host(), "g", NAME) == 50_000
    assert group_config_int(host(), "other", NAME) == 45_000


def test_a_configuration_of_a_later_release_is_0():
    assert group_config_int(host("4.0.0"), "other", "consumer.assignment.interval.ms") == 0
