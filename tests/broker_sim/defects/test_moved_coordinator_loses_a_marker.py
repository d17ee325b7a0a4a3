"""The coordinator of a committed transaction crashes before it has written the markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.records import TopicPartition
from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


PARTITIONS = [TopicPartition("orders", index) for index in (0, 1)]


def committed(defects: Sequence[str]) -> tuple[list[list[str]], bool]:
    """Return what is read committed of each partition, and whether a last stable offset is behind for ever."""
    stage = Stage(defects, brokers=3, topics=["orders:2:3"], link_delay_ms=20)
    producer = stage.transactional()
    producer.transactional.begin_transaction()
    stage.until([stage.send(producer, f"of {at.partition}", at) for at in PARTITIONS])
    stage.call(producer.transactional.commit_transaction())
    coordinator = stage.cluster.leader_of("__transaction_state", 0)
    assert coordinator is not None
    stage.cluster.kill(coordinator)
    stage.run(10_000)
    stage.world.run_until(stage.cluster.restart(coordinator))
    stage.settle()
    stage.run(60_000)
    plain = stage.producer()
    stage.until([stage.send(plain, "plain", at) for at in PARTITIONS])
    read = [stage.read(at, **{"isolation.level": "read_committed"}) for at in PARTITIONS]
    stage.close()
    logs = [stage.log(at) for at in PARTITIONS]
    return read, any(log.last_stable_offset < log.high_watermark for log in logs)


def test_a_part_of_the_transaction_is_never_read() -> None:
    broken, good = with_and_without(committed, "moved-coordinator-loses-a-marker")
    assert broken == ([["of 0", "plain"], []], True)
    assert good == ([["of 0", "plain"], ["of 1", "plain"]], False)
