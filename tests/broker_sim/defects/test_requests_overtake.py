"""Two requests of one connection, of which the first one takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def stored(defects: Sequence[str]) -> list[str]:
    stage = Stage(defects, config={"thread.model": "pipelined"})
    producer = stage.producer(enable_idempotence=False, retries=0)
    stage.sent(producer, "a")
    stage.rule(act={"delay_ms": 100}, phase="before_append", select={"api": "Produce", "nth": 1})
    outcomes = [stage.send(producer, "b")]
    stage.run(10)
    outcomes.append(stage.send(producer, "c"))
    stage.until(outcomes)
    assert [each.error for each in outcomes] == [None, None]
    stage.close()
    return stage.values()


def test_records_are_stored_in_the_other_order() -> None:
    broken, good = with_and_without(stored, "requests-overtake")
    assert broken == ["a", "c", "b"]
    assert good == ["a", "b", "c"]
