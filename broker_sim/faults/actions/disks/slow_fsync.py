"""The action `slow_fsync`: flushes that take time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER, Fields, Number, Text, Whole

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef, Drawable


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowFsync(Action):
    """Let every flush of a log of `broker` take time, by default of all logs; a flush includes all files of a segment.

    It takes the place of a `slow_log_dir` of the same broker, and `mend_log_dir` ends it.
    """

    on_cluster: ClassVar = True
    needs: ClassVar = (Need.CLUSTER, Need.DISK)
    form: ClassVar = Fields(
        required=("broker", "ms"),
        broker=BROKER,
        topic=Text("a topic; without it the logs of all topics", "orders"),
        partition=Whole("a partition, by default all", 0, at_least=0, drawable=False),
        ms=Number("the time of a flush in milliseconds", 200, at_least=0),
    )
    broker: BrokerRef
    ms: Drawable
    topic: str | None = None
    partition: int | None = None

    def fire(self, firing: Firing) -> None:
        """Slow the flushes down in the next loop iteration."""
        broker = firing.resolve(self.broker)
        ms = firing.number("ms", self.ms)
        firing.apply(
            lambda: firing.cluster.admin.slow_fsync(broker, ms, topic=self.topic, partition=self.partition),
            lambda: firing.cluster.admin.restore_disk_speed(broker),
        )
