from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.broker_sim.faults.actions.set_configs import config_of

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_configuration_changes_and_the_earlier_one_comes_back(
    replicas: Callable[..., Any], fire: Callable[..., Any]
) -> None:
    made = replicas(topic_config={"min.insync.replicas": "1"})
    act = {"alter_config": {"topic": "t", "config": {"min.insync.replicas": 3, "retention.ms": 5000}}}
    assert fire(made, act, until={"delay_ms": 1_000}).problem is None
    assert config_of(made, "topic", "t") == {"min.insync.replicas": "3", "retention.ms": "5000"}
    made.run(ms=2_000)
    assert config_of(made, "topic", "t") == {"min.insync.replicas": "1"}


def test_brokers_and_groups_have_configurations_too(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    for resource, kind, name, config in (
        ({"broker": 2}, "broker", "2", {"num.io.threads": "9"}),
        ({"all_brokers": True}, "broker", "", {"log.retention.ms": "90000"}),
        ({"group": "g"}, "group", "g", {"consumer.session.timeout.ms": "50000"}),
    ):
        report = fire(made, {"alter_config": {**resource, "config": config}})
        assert report.problem is None, resource
        assert config_of(made, kind, name).items() >= config.items()


def test_an_invalid_value_is_the_problem_of_the_rule(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    act = {"alter_config": {"topic": "t", "config": {"min.insync.replicas": "many"}}}
    assert "IncrementalAlterConfigs: INVALID_CONFIG" in fire(replicas(), act).problem


def test_a_release_without_the_request_has_its_configurations_in_zookeeper(
    replicas: Callable[..., Any], fire: Callable[..., Any]
) -> None:
    made = replicas(release="2.0.1")
    act = {"alter_config": {"topic": "t", "config": {"min.insync.replicas": 3}}}
    assert fire(made, act, until={"delay_ms": 1_000}).problem is None
    assert config_of(made, "topic", "t") == {"min.insync.replicas": "3"}
    made.run(ms=2_000)
    assert config_of(made, "topic", "t") == {}
