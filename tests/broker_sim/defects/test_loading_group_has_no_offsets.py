"""A consumer starts while the next coordinator of its group loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.consumer_groups import OffsetAndMetadata
from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


GROUP = {"group.id": "g"}


def read(defects: Sequence[str]) -> list[str]:
    """Return what a consumer reads after its group has committed the offset 2."""
    stage = Stage(defects, brokers=2, topics=["orders:1:2"])
    stage.sent(stage.producer(), "a", "b", "c")
    first = stage.reader(**GROUP)
    stage.call(first.commit({ORDERS: OffsetAndMetadata(offset=2)}))
    coordinator = stage.cluster.leader_of("__consumer_offsets", 0)
    assert coordinator is not None
    stage.cluster.kill(coordinator)
    stage.world.run_until(lambda: stage.cluster.leader_of("__consumer_offsets", 0) not in (None, coordinator))
    values = stage.poll(stage.reader(**GROUP), for_ms=5_000)
    stage.close()
    return values


def test_a_consumer_begins_anew() -> None:
    broken, good = with_and_without(read, "loading-group-has-no-offsets")
    assert broken == ["a", "b", "c"]
    assert good == ["c"]
