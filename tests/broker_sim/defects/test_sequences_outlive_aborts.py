"""A transaction is aborted, the next one begins with the same sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def committed(defects: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the acknowledged offsets, and what is read committed."""
    stage = Stage(defects)
    producer = stage.transactional()
    calls = producer.transactional
    calls.begin_transaction()
    outcomes = stage.sent(producer, "a")
    stage.call(calls.abort_transaction())
    calls.begin_transaction()
    outcomes += stage.sent(producer, "b")
    stage.call(calls.commit_transaction())
    read = stage.read(**{"isolation.level": "read_committed"})
    stage.close()
    return [each.offset for each in outcomes], read


def test_a_committed_record_is_taken_for_the_retry_of_an_aborted_one() -> None:
    broken, good = with_and_without(committed, "sequences-outlive-aborts")
    assert broken == ([0, 0], [])
    assert good == ([0, 2], ["b"])
