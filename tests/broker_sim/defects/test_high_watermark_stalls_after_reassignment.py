"""A replica is replaced by another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def read(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the acknowledged values, and those that consumers read."""
    stage = Stage(defects, brokers=3, topics=["orders:1:2"])
    producer = stage.producer(acks=1, enable_idempotence=False)
    stage.sent(producer, "a")
    stage.reassign(ORDERS, 1, 3)
    sent = stage.sent(producer, "b", "c")
    values = stage.read()
    stage.close()
    return [each.value for each in sent if each.error is None], values


def test_acknowledged_records_are_not_read() -> None:
    broken, good = with_and_without(read, "high-watermark-stalls-after-reassignment")
    assert broken == (["b", "c"], ["a"])
    assert good == (["b", "c"], ["a", "b", "c"])
