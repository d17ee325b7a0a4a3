from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_topic_goes(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    assert fire(made, {"delete_topic": "t"}).problem is None
    assert "t" not in made.cluster.partition_counts
    assert fire(made, {"delete_topic": "t"}).problem == "there is no topic 't'"
