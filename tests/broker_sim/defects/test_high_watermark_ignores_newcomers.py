"""A leader waits for the controller's response to a larger ISR, and crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.links.node_links import CONTROLLER_ID
from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def of_a_pending_isr(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the acknowledged values, and the stored ones."""
    stage = Stage(defects, brokers=3, topics=["orders:1:3"], config={"replica.lag.time.max.ms": 1_500}, link_delay_ms=5)
    cluster = stage.cluster
    producer = stage.producer(acks="all", delivery_timeout_ms=4_000, request_timeout_ms=2_000)
    acked = stage.sent(producer, "a")
    cluster.link(1, 3).hold()
    acked += stage.sent(producer, "b")  # broker 3 has left the ISR
    cluster.link(CONTROLLER_ID, 1).hold()
    cluster.link(1, 3).release()
    stage.world.run_until(lambda: 3 in cluster.registration_of(*ORDERS).isr)
    cluster.link(1, 3).hold()
    acked += stage.sent(producer, "c")
    for broker_id in (1, 2):
        cluster.kill(broker_id)
    cluster.link(CONTROLLER_ID, 1).release()
    cluster.link(1, 3).release()
    stage.run(4_000)
    for broker_id in (1, 2):
        cluster.restart(broker_id)
    stage.settle()
    stage.close()
    return [each.value for each in acked if each.error is None], stage.values()


def test_an_acknowledged_record_is_lost_with_the_newcomers_election() -> None:
    broken, good = with_and_without(of_a_pending_isr, "high-watermark-ignores-newcomers")
    assert broken == (["a", "b", "c"], ["a", "b"])
    assert "c" not in good[0]
