"""A member repeats a heartbeat whose response was lost while the group rebalances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.consumer_groups import RebalanceListener
from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


MEMBER = {"group.id": "g", "group.protocol": "consumer", "request.timeout.ms": 3_000}


class Losses(RebalanceListener):
    """Counts the losses of all partitions."""

    def __init__(self) -> None:
        self.count = 0

    def on_partitions_lost(self, partitions: Sequence[object]) -> None:
        """Count one."""
        assert partitions
        self.count += 1


def losses(defects: Sequence[str]) -> int:
    """Return how often the first member loses its partitions."""
    stage = Stage(defects, topics=["orders:4:1"])
    first, second = (stage.consumer(**MEMBER, **{"client.id": name}) for name in ("first", "second"))
    listener = Losses()
    stage.call(first.subscribe(["orders"], listener))
    stage.poll(first, for_ms=10_000)
    assert len(first.assignment) == 4
    # The first heartbeat has the partitions that remain, the second one confirms them and gets the next epoch.
    confirmation = {"api": "ConsumerGroupHeartbeat", "client": "first", "nth": 2}
    stage.rule(act="disconnect", phase="before_response", select=confirmation)
    stage.call(second.subscribe(["orders"]))
    stage.poll(second, for_ms=100)
    for _ in range(300):
        stage.poll(first, for_ms=100)
        stage.poll(second, for_ms=100)
    assert (len(first.assignment), len(second.assignment)) == (2, 2)
    stage.close()
    return listener.count


def test_a_member_loses_its_partitions() -> None:
    broken, good = with_and_without(losses, "repeated-heartbeats-are-fenced")
    assert broken >= 1
    assert good == 0
