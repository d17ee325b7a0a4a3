from __future__ import annotations

from typing import Any

import pytest

from broker_sim.config.config_resource import ConfigOperation, ResourceType
from broker_sim.links.node_links import CONTROLLER_ID
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

Make = Any


def alter(replicas: Any, kind: ResourceType, name: str, *, by: int = 1, **configs: str | None) -> list[Any]:
    """Forward a change from a broker; the list is empty until the controller has responded."""
    changes = [
        AlterableConfig(
            name=key.replace("_", "."),
            config_operation=ConfigOperation.DELETE if value is None else ConfigOperation.SET,
            value=value,
        )
        for key, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    responses: list[Any] = []
    sent = replicas.cluster.broker(by).forward_to_controller(request, timeout_ms=1000)
    sent.addCallback(lambda response: responses.extend(response.responses))
    return responses


def retention_of(replicas: Any, broker: int) -> Any:
    log = replicas.cluster.log_of(broker, *replicas.topic)
    return log.config["retention.ms"]


def test_each_running_log_learns_of_a_change_when_its_broker_does(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.broker(2).metadata_lag_ms = 500.0
    responses = alter(cluster, ResourceType.TOPIC, "t", retention_ms="5000")
    cluster.run(ms=100)
    assert [each.error_code for each in responses] == [ErrorCode.NONE]
    assert [retention_of(cluster, broker) for broker in (1, 2, 3)] == [5000, 604_800_000, 5000]
    cluster.run(ms=500)
    assert retention_of(cluster, 2) == 5000


def test_a_subscriber_of_a_log_receives_old_and_new(replicas: Make) -> None:
    cluster = replicas()
    seen: list[Any] = []
    cluster.cluster.broker(1).storage.on_config_change(
        lambda topic_partition, old, new: seen.append((topic_partition, old["segment.ms"], new["segment.ms"]))
    )
    alter(cluster, ResourceType.TOPIC, "t", segment_ms="5000")
    cluster.run(ms=10)
    assert seen == [(cluster.topic, 604_800_000, 5000)]


def test_defaults_of_all_brokers_reach_the_logs_that_do_not_have_their_own(replicas: Make) -> None:
    cluster = replicas()
    alter(cluster, ResourceType.BROKER, "", log_retention_ms="7000")
    cluster.run(ms=10)
    assert [retention_of(cluster, broker) for broker in (1, 2, 3)] == [7000] * 3
    alter(cluster, ResourceType.BROKER, "2", log_retention_ms="8000")
    alter(cluster, ResourceType.TOPIC, "t", retention_ms="9000")
    cluster.run(ms=10)
    assert [retention_of(cluster, broker) for broker in (1, 2, 3)] == [9000] * 3
    alter(cluster, ResourceType.TOPIC, "t", retention_ms=None)
    cluster.run(ms=10)
    assert [retention_of(cluster, broker) for broker in (1, 2, 3)] == [7000, 8000, 7000]


def test_a_broker_that_starts_again_has_its_dynamic_configuration(replicas: Make) -> None:
    cluster = replicas()
    alter(cluster, ResourceType.BROKER, "2", log_retention_ms="8000", num_io_threads="9")
    cluster.run(ms=10)
    cluster.cluster.kill(2)
    cluster.cluster.restart(2)
    cluster.settle()
    assert cluster.cluster.broker(2).config.num_io_threads == 9
    assert retention_of(cluster, 2) == 8000
    assert cluster.cluster.broker(1).config.num_io_threads == 8


def test_what_all_brokers_are_given_counts_for_the_controller_too(replicas: Make) -> None:
    cluster = replicas(topic_config={"min.insync.replicas": "1"})
    assert not cluster.cluster.controller.config.unclean_leader_election_enable
    alter(cluster, ResourceType.BROKER, "", unclean_leader_election_enable="true")
    cluster.run(ms=10)
    topic = cluster.cluster.controller.image.topics["t"]
    assert cluster.cluster.controller.topic_config(topic).unclean_leader_election_enable


def test_a_resource_is_changed_as_a_whole_or_not_at_all(replicas: Make) -> None:
    cluster = replicas()
    before = cluster.cluster.controller.image.version
    responses = alter(cluster, ResourceType.TOPIC, "t", retention_ms="5000", segment_bytes="many")
    cluster.run(ms=10)
    assert [each.error_code for each in responses] == [ErrorCode.INVALID_CONFIG]
    assert cluster.cluster.controller.image.version == before


def test_a_controller_out_of_reach_leaves_everything_as_it_is(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.isolate(1)
    failures: list[Any] = []
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=ResourceType.TOPIC, resource_name="t", configs=[])]
    )
    sent = cluster.cluster.links.send(1, CONTROLLER_ID, request, timeout_ms=100)
    sent.addErrback(failures.append)
    cluster.run(ms=200)
    assert len(failures) == 1


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_only_a_cluster_with_elrs_begins_with_a_dynamic_minimum_in_sync(replicas: Make, release: str) -> None:
    cluster = replicas(release=release, config={"min.insync.replicas": "2"})
    configs = cluster.cluster.controller.image.config_of(ResourceType.BROKER, "")
    assert dict(configs) == ({"min.insync.replicas": "2"} if release == "4.3.1" else {})
    assert cluster.cluster.broker(1).config.min_insync_replicas == 2
