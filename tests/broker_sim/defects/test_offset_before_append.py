"""Two producers send while a batch is not replicated yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def acknowledged(defects: Sequence[str]) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    stage = Stage(defects, brokers=2, topics=["orders:1:2"], link_delay_ms=20)
    producers = [stage.producer(acks="all"), stage.producer(acks="all")]
    for producer in producers:
        stage.sent(producer, "first")
    stage.run(1_000)
    outcomes = [stage.send(producer, value) for producer, value in zip(producers, "ab", strict=True)]
    stage.until(outcomes)
    stage.close()
    return stage.stored()[2:], [(each.offset, each.value) for each in outcomes]


def test_two_acknowledged_records_share_an_offset() -> None:
    broken, good = with_and_without(acknowledged, "offset-before-append")
    assert broken == ([(2, "a"), (3, "b")], [(2, "a"), (2, "b")])
    assert good == ([(2, "a"), (3, "b")], [(2, "a"), (3, "b")])
