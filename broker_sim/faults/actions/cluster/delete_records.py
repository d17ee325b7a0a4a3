"""The action `delete_records`: the oldest records of a partition are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import PARTITION, Fields, Whole

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable
    from broker_sim.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class DeleteRecords(Action):
    """Delete the records of a partition below an offset, or below the high watermark: the log start moves (KIP-107)."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        alone="partition",
        required=("partition",),
        partition=PARTITION,
        before=Whole("the offset below which records are deleted; without it the high watermark", 100, at_least=0),
    )
    partition: TopicPartition
    before: Drawable | None = None

    def fire(self, firing: Firing) -> None:
        """Delete them in the next loop iteration."""
        topic, partition = self.partition
        before = None if self.before is None else firing.whole("before", self.before)
        firing.soon(lambda: firing.cluster.admin.delete_records(topic, partition, before))
