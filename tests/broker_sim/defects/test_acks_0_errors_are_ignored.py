"""A producer without acknowledgements sends to a broker that does not lead any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def stored(defects: Sequence[str]) -> list[str]:
    stage = Stage(defects, brokers=2, topics=["orders:1:2"])
    producer = stage.producer(acks=0, enable_idempotence=False)
    stage.sent(producer, "a")
    stage.reassign(ORDERS, 2, 1)
    for value in "bcde":
        stage.sent(producer, value)
        stage.run(1_000)
    stage.close()
    return stage.values()


def test_all_records_after_the_move_are_lost() -> None:
    broken, good = with_and_without(stored, "acks-0-errors-are-ignored")
    assert broken == ["a"]
    assert good == ["a", "c", "d", "e"]
