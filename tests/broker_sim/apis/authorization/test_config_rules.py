"""Configurations that the client may not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

if TYPE_CHECKING:
    from tests.broker_sim.apis.authorization.conftest import Guarded


def test_topics_are_checked_by_their_own_rights_and_brokers_by_the_clusters(guarded: Guarded) -> None:
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=["none"])
        for kind, name in ((4, "1"), (2, "t"), (2, "u"))
    ]
    guarded.deny(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "t")
    guarded.deny(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
    results = guarded.exchange(DescribeConfigsRequest(resources=resources), 4).results
    found = [(each.resource_name, each.error_code, each.error_message) for each in results]
    assert found == [
        ("u", 0, ""),
        ("1", 31, "Cluster authorization failed."),
        ("t", 29, "Topic authorization failed."),
    ]
