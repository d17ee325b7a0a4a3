"""The configurations of consumer groups."""

from __future__ import annotations

from broker_sim.config.config_resource import ConfigOperation
from broker_sim.coordinators.groups.consumer.consumer_config import supported_assignors
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)


def test_assignors_may_be_named_by_their_classes(consumers):
    classes = "org.apache.kafka.coordinator.group.assignor.RangeAssignor,uniform"
    bench = consumers(group_consumer_assignors=classes)
    assert supported_assignors(bench.broker.config) == ["range", "uniform"]
    bench.join("m1", "a")
    assert bench.describe().assignor_name == "range"


def test_the_configuration_of_a_group_takes_effect_at_once(consumers):
    bench = consumers()
    bench.join("m1", "a")
    config = AlterableConfig(name="consumer.heartbeat.interval.ms", config_operation=ConfigOperation.SET, value="6000")
    resource = AlterConfigsResource(resource_type=32, resource_name="g", configs=[config])
    response = bench.api.exchange(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert response.responses[0].error_code == 0
    bench.wait(100)
    assert bench.heartbeat("m1", 2).heartbeat_interval_ms == 6000
