"""A compacted topic has an aborted transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.topic_spec import TopicSpec
from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


CONFIGS = {
    "cleanup.policy": "compact",
    "delete.retention.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "5000",
}
CONFIG = {"log.cleaner.backoff.ms": 1_000}


def read(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is read committed before compaction, and after it."""
    stage = Stage(defects, topics=[TopicSpec(name="orders", configs=CONFIGS)], config=CONFIG)
    producer = stage.transactional()
    producer.transactional.begin_transaction()
    stage.until([stage.send(producer, "aborted", key=b"1")])
    stage.call(producer.transactional.abort_transaction())
    committed = {"isolation.level": "read_committed"}
    before = stage.read(**committed)
    plain = stage.producer()
    for key in (b"2", b"3", b"4"):
        stage.run(6_000)
        stage.until([stage.send(plain, key.decode(), key=key)])
    stage.run(6_000)
    after = stage.read(**committed)
    stage.close()
    return before, after


def test_an_aborted_record_is_read_committed() -> None:
    broken, good = with_and_without(read, "cleaner-loses-abort-markers")
    assert broken == ([], ["aborted", "2", "3", "4"])
    assert good == ([], ["2", "3", "4"])
