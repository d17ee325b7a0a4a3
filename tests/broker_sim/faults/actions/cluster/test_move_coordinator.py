from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_another_broker_coordinates(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(config={"offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "3"})
    refused = fire(made, {"move_coordinator": {"group": "g"}})
    assert refused.problem == "act.move_coordinator: group g has no coordinator: there is no topic __consumer_offsets"
    act = {"topic": "__consumer_offsets", "partitions": 3, "replication_factor": 3}
    fire(made, {"create_topic": act}, ms=1_000)
    topic, partition = made.cluster.admin.state_partition("group", "g")
    before = made.cluster.leader_of(topic, partition)
    assert fire(made, {"move_coordinator": {"group": "g"}}).problem is None
    assert made.cluster.leader_of(topic, partition) != before
