"""Replicas that count as in sync although they lack acknowledged records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG = {"replica.lag.time.max.ms": 1_500}


def of_two_leaders(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Broker 3 is out of sync; broker 2 leads with a high watermark that is behind, and crashes next."""
    stage = Stage(defects, brokers=4, topics=["orders:1:4"], config=CONFIG, link_delay_ms=5)
    cluster = stage.cluster
    producer = stage.producer(acks="all")
    stage.sent(producer, "a")
    cluster.link(1, 3).hold()
    acked = stage.sent(producer, "b")  # when broker 3 has left the ISR; the others get the high watermark later
    cluster.kill(1)
    cluster.link(4, 2).hold()
    cluster.link(2, 3).hold()
    stage.world.run_until(lambda: cluster.leader_of(*ORDERS) == 2)
    stage.run(100)
    cluster.kill(2)
    for source, target in ((1, 3), (4, 2), (2, 3)):
        cluster.link(source, target).release()
    stage.run(3_000)
    for broker_id in (1, 2):
        cluster.restart(broker_id)
    stage.settle()
    return [each.value for each in acked if each.error is None], stage.values()


def test_a_follower_joins_before_it_has_what_the_former_leader_acknowledged() -> None:
    broken, good = with_and_without(of_two_leaders, "isr-join-before-epoch-start")
    assert broken == (["b"], ["a"])
    assert good == (["b"], ["a", "b"])
