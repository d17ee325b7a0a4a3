from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_topic_has_another_id_and_no_records(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(topic_config={"retention.ms": "1000000"})
    made.produce(1)
    before = made.cluster.controller.image.topics["t"]
    assert fire(made, {"recreate_topic": "t"}, ms=2_000).problem is None
    after = made.cluster.controller.image.topics["t"]
    assert after.topic_id != before.topic_id
    assert after.configs == before.configs
    assert made.values(1) == []
    assert "there is no topic 'x'" in fire(made, {"recreate_topic": "x"}).problem
