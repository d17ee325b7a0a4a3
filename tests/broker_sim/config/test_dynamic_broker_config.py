from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from twisted.logger import LogLevel, capturedLogs

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.broker_config_validation import validate_dynamic_configs
from broker_sim.config.config_resource import ConfigRecord, ConfigResource, ResourceType
from broker_sim.config.dynamic_broker_config import DynamicBrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.errors import ConfigError
from broker_sim.metadata.metadata_image import MetadataImage

if TYPE_CHECKING:
    from collections.abc import Mapping


def image(own: Mapping[str, str], defaults: Mapping[str, str] | None = None) -> MetadataImage:
    records = [
        ConfigRecord(resource=ConfigResource(ResourceType.BROKER, name), name=key, value=value)
        for name, configs in (("1", own), ("", defaults or {}))
        for key, value in configs.items()
    ]
    return MetadataImage.empty("cluster").with_configs(records)


def test_what_is_set_for_one_broker_goes_before_all_brokers_and_both_before_the_file() -> None:
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({"num.io.threads": "4"}), 1)
    assert dynamic.current.num_io_threads == 4
    dynamic.apply(image({}, {"num.io.threads": "5"}))
    assert dynamic.current.num_io_threads == 5
    dynamic.apply(image({"num.io.threads": "6"}, {"num.io.threads": "5"}))
    assert dynamic.current.num_io_threads == 6
    dynamic.apply(image({}))
    assert dynamic.current.num_io_threads == 4


def test_a_time_in_milliseconds_replaces_the_files_hours() -> None:
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({"log.roll.hours": "1"}), 1)
    dynamic.apply(image({"log.roll.ms": "5000"}))
    assert TopicConfig.resolve({}, dynamic.current).segment_ms == 5000


def test_subscribers_receive_changes_alone_with_old_and_new() -> None:
    seen: list[tuple[int, int]] = []
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({}), 1)
    dynamic.subscribe(lambda old, new: seen.append((old.num_io_threads, new.num_io_threads)))
    for own in ({"num.io.threads": "9"}, {"num.io.threads": "9"}, {}):
        dynamic.apply(image(own))
    assert seen == [(8, 9), (9, 8)]


def test_other_brokers_configurations_are_not_ones_own() -> None:
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({}), 2)
    dynamic.apply(image({"num.io.threads": "9"}))
    assert dynamic.current.num_io_threads == 8


def test_a_configuration_without_effect_is_logged_once() -> None:
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({}), 1)
    with capturedLogs() as logs:
        for value in ("1000000", "2000000"):
            dynamic.apply(image({"log.cleaner.io.buffer.size": value, "num.io.threads": "9"}))
    warned = [event["name"] for event in logs if event["log_level"] is LogLevel.warn]
    assert warned == ["log.cleaner.io.buffer.size"]


def test_listeners_have_an_effect_in_a_file_alone() -> None:
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({"listeners": "PLAINTEXT://:9092"}), 1)
    with capturedLogs() as logs:
        dynamic.apply(image({"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"}))
    assert [event["name"] for event in logs if event["log_level"] is LogLevel.warn] == ["listeners"]


def test_a_value_that_cannot_be_changes_nothing() -> None:
    dynamic = DynamicBrokerConfig(BrokerConfig.parse({}), 1)
    with capturedLogs() as logs:
        dynamic.apply(image({"num.io.threads": "many", "log.roll.ms": "5"}))
    assert dynamic.current.num_io_threads == 8
    assert [event["log_level"] for event in logs] == [LogLevel.error]


def test_a_pool_may_be_halved_or_doubled_at_once() -> None:
    config = BrokerConfig.parse({"num.io.threads": "8"})
    for threads in (4, 16):
        validate_dynamic_configs({"num.io.threads": str(threads)}, config, per_broker=True)
    for threads in (3, 17):
        with pytest.raises(ConfigError, match=f"num.io.threads={threads}"):
            validate_dynamic_configs({"num.io.threads": str(threads)}, config, per_broker=True)
