"""The action `slow_log_dir`: a slow log directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER, LOG_DIR, Fields, Number

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef, Drawable


@dataclass(frozen=True, slots=True)
class SlowLogDir(Action):
    """Make a log directory of `broker`, by default every one, slow: a time per append or flush, a rate of bytes."""

    on_cluster: ClassVar = True
    needs: ClassVar = (Need.CLUSTER, Need.DISK)
    form: ClassVar = Fields(
        alone="broker",
        required=("broker",),
        broker=BROKER,
        log_dir=LOG_DIR,
        any_of=(("append_ms", "sync_ms", "bytes_per_second"),),
        append_ms=Number("the time of an append", 2, at_least=0),
        sync_ms=Number("the time of a flush", 20, at_least=0),
        bytes_per_second=Number("the rate of written bytes", 1_000_000, at_least=1),
    )
    broker: BrokerRef
    log_dir: str | None = None
    append_ms: Drawable = 0
    sync_ms: Drawable = 0
    bytes_per_second: Drawable | None = None

    def fire(self, firing: Firing) -> None:
        """Slow the directory down in the next loop iteration."""
        broker = firing.resolve(self.broker)
        append_ms = firing.number("append_ms", self.append_ms)
        sync_ms = firing.number("sync_ms", self.sync_ms)
        rate = None if self.bytes_per_second is None else firing.number("bytes_per_second", self.bytes_per_second)
        firing.apply(
            lambda: firing.cluster.slow_log_dir(
                broker, self.log_dir, append_ms=append_ms, sync_ms=sync_ms, bytes_per_second=rate
            ),
            lambda: firing.cluster.mend_log_dir(broker, self.log_dir),
        )
