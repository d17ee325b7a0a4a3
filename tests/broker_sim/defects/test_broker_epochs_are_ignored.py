"""A broker loses its log while the proposal is on its way that adds it to the ISR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_runtime.virtual_disk import VirtualDisk
from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


CONFIG = {"replica.lag.time.max.ms": 1_500}


def of_a_late_proposal(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the acknowledged values, and the stored ones."""
    stage = Stage(
        defects, brokers=3, topics=["orders:1:3"], config=CONFIG, data_dir="/data", disk=VirtualDisk(), link_delay_ms=5
    )
    cluster = stage.cluster
    producer = stage.producer(acks="all")
    acked = stage.sent(producer, "a")
    cluster.link(1, 3).hold()
    acked += stage.sent(producer, "b")  # broker 3 has left the ISR
    stage.rule(act={"delay_ms": 8_000}, select={"api": "AlterPartition", "replica": "any"}, times=1)
    cluster.link(1, 3).release()
    stage.run(100)
    cluster.link(1, 3).hold()
    cluster.lose_power(3)
    stage.run(4_000)
    cluster.restart(3)
    for _ in range(50):
        stage.run(100)
        if 3 in cluster.registration_of(*ORDERS).isr:
            break
    for broker_id in (1, 2):
        cluster.kill(broker_id)
    cluster.link(1, 3).release()
    stage.run(4_000)
    for broker_id in (1, 2):
        cluster.restart(broker_id)
    stage.settle()
    stage.close()
    return [each.value for each in acked if each.error is None], stage.values()


def test_acknowledged_records_are_lost() -> None:
    broken, good = with_and_without(of_a_late_proposal, "broker-epochs-are-ignored")
    assert good == (["a", "b"], ["a", "b"])
    assert broken == (["a", "b"], ["a"])
