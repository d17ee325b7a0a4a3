"""The disk of a broker is full, and the broker starts again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_runtime.virtual_disk import VirtualDisk
from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def acknowledged(defects: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the acknowledged values, and the stored ones after the next start."""
    stage = Stage(defects, data_dir="/data", disk=VirtualDisk())
    producer = stage.producer(delivery_timeout_ms=5_000, request_timeout_ms=2_000)
    sent = stage.sent(producer, "a")
    stage.cluster.fill_log_dir(1)
    sent += stage.sent(producer, "b")
    stage.cluster.kill(1)
    stage.cluster.mend_log_dir(1)
    stage.world.run_until(stage.cluster.restart(1))
    stage.settle()
    stage.close()
    return [each.value for each in sent if each.error is None], stage.values()


def test_an_acknowledged_record_is_gone_after_the_next_start() -> None:
    broken, good = with_and_without(acknowledged, "appends-after-io-error")
    assert broken == (["a", "b"], ["a"])
    assert good == (["a"], ["a"])
