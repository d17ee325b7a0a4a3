"""A consumer wants records that the follower in its rack has deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


CONFIG = {
    "1:broker.rack": "one",
    "2:broker.rack": "two",
    "2:log.retention.ms": 1_000,
    "log.initial.task.delay.ms": 1_000,
    "log.retention.check.interval.ms": 1_000,
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


def shown(defects: Sequence[str]) -> tuple[list[str], bool]:
    """Return what is read in a fifth of a second, and whether the consumer sends more than 20 requests meanwhile."""
    stage = Stage(defects, brokers=2, topics=["orders:1:2"], config=CONFIG)
    producer = stage.producer()
    stage.sent(producer, "a", "b")
    stage.run(5_000)
    stage.sent(producer, "c")  # the follower reports its log start with the next fetch
    assert stage.values(broker_id=2) == ["c"]
    reader = stage.reader(**{"client.rack": "two", "fetch.max.wait.ms": 500})
    read = stage.poll(reader, for_ms=200)
    stage.close()
    requests = [each for each in stage.cluster.journal.to_rows() if each["kind"] == "RequestReceived"]
    return read, sum(each["api"] == "Fetch" and each["replica_id"] < 0 for each in requests) > 20


def test_the_consumer_is_sent_to_and_fro() -> None:
    broken, good = with_and_without(shown, "selector-ignores-log-start")
    assert broken == ([], True)
    assert good == (["a", "b", "c"], False)
