from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_topic_grows(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    assert fire(made, {"add_partitions": {"topic": "t", "count": 2}}).problem is None
    assert made.cluster.partition_counts["t"] == 3
    assert "CreatePartitions: UNKNOWN_TOPIC_OR_PARTITION" in fire(made, {"add_partitions": "x"}).problem
