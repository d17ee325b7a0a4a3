"""Two batches of a transaction are in flight, and the verification of the first one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def shown(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the name of the error of each record, and the stored values."""
    stage = Stage(defects, release="3.6.2", link_delay_ms=20)
    verification = {"api": "AddPartitionsToTxn", "replica": "any"}
    stage.rule(act={"error": "COORDINATOR_LOAD_IN_PROGRESS"}, select=verification, times=1)
    producer = stage.transactional(delivery_timeout_ms=10_000, request_timeout_ms=5_000)
    producer.transactional.begin_transaction()
    outcomes = [stage.send(producer, "a")]
    stage.run(10)
    outcomes.append(stage.send(producer, "b"))
    stage.until(outcomes)
    stage.close()
    return [type(each.error).__name__ for each in outcomes], stage.values()


def test_a_transaction_gets_no_further_than_its_second_batch() -> None:
    broken, good = with_and_without(shown, "verification-forgets-sequences")
    assert good == (["NoneType", "NoneType"], ["a", "b"])
    assert broken == (["BatchExpired", "NoneType"], ["b"])
