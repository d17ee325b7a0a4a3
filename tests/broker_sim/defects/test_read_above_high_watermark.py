"""A consumer reads while the followers lag, and the leader crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def polled(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what the first consumer polls, and what later consumers do."""
    stage = Stage(defects, brokers=2, topics=["orders:1:2"])
    producer = stage.producer(acks=1, enable_idempotence=False)
    stage.sent(producer, "a")
    stage.run(1_000)
    stage.cluster.link(1, 2).hold()
    stage.sent(producer, "b")
    read = stage.read()
    stage.cluster.kill(1)
    stage.world.run_until(lambda: stage.cluster.leader_of(*ORDERS) == 2)
    stage.cluster.link(1, 2).release()
    stage.cluster.restart(1)
    stage.settle()
    later = stage.read()
    stage.close()
    return read, later


def test_a_consumer_reads_what_no_later_one_does() -> None:
    broken, good = with_and_without(polled, "read-above-high-watermark")
    assert broken == (["a", "b"], ["a"])
    assert good == (["a"], ["a"])
