from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.broker_sim.faults.actions.set_configs import config_of

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_topic_is_made(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    act = {"topic": "a", "partitions": 2, "replication_factor": 3, "config": {"min.insync.replicas": 2}}
    assert fire(made, {"create_topic": act}).problem is None
    assert made.cluster.partition_counts["a"] == 2
    assert config_of(made, "topic", "a") == {"min.insync.replicas": "2"}
    assert fire(made, {"create_topic": "a"}).problem == "topic 'a' exists already"
