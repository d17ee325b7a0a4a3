from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_broker_learns_of_a_topic_late(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    assert fire(made, {"lag_metadata": {"broker": 2, "ms": 3_000}}, until={"delay_ms": 10_000}).problem is None
    fire(made, {"create_topic": "late"}, ms=1_000)
    known = [broker for broker in (1, 2, 3) if "late" in made.cluster.broker(broker).metadata_cache.image.topics]
    assert known == [1, 3]
    made.run(ms=3_000)
    assert "late" in made.cluster.broker(2).metadata_cache.image.topics
    made.run(ms=10_000)
    assert made.cluster.broker(2).metadata_lag_ms == 0
