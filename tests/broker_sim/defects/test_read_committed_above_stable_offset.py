"""A consumer of committed records reads while a transaction is open, which is aborted later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def polled(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is polled before the end of the transaction, and after it."""
    stage = Stage(defects)
    producer = stage.transactional()
    producer.transactional.begin_transaction()
    stage.sent(producer, "a")
    before = stage.read(**{"isolation.level": "read_committed"})
    stage.call(producer.transactional.abort_transaction())
    after = stage.read(**{"isolation.level": "read_committed"})
    stage.close()
    return before, after


def test_an_open_transaction_is_read_committed() -> None:
    broken, good = with_and_without(polled, "read-committed-above-stable-offset")
    assert broken == (["a"], [])
    assert good == ([], [])
