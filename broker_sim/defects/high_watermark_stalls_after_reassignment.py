"""The high watermark of a leader stays where it is after the replicas of its partition have changed.

A reassignment replaces a replica. The leader keeps its role, appends and acknowledges (`acks=1`), and the followers
have all records, but the high watermark does not move any more: no consumer sees what is written from then on, until
the leadership moves. With `acks=all` every send times out. Jepsen saw polls that never reached the acknowledged
offsets while nodes joined and left. A leader that computes the high watermark from its present replicas is not
affected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.partition import Partition

if TYPE_CHECKING:
    from broker_sim.metadata.metadata_image import PartitionRegistration

__all__ = ["DEFECT"]


class StallsAfterReassignment(Partition):
    """Moves the high watermark only while the replicas are those with which the leadership began."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._stalled = False

    def make_leader(self, registration: PartitionRegistration) -> bool:
        """Lead; note whether the replicas have changed."""
        self._stalled = self.is_leader and (self._stalled or set(registration.replicas) != set(self.replicas))
        return super().make_leader(registration)

    def maybe_increment_high_watermark(self, now_ms: int) -> bool:
        """Move the high watermark, unless the replicas have changed."""
        return False if self._stalled else super().maybe_increment_high_watermark(now_ms)


DEFECT: Final = Defect(
    name="high-watermark-stalls-after-reassignment",
    lesson=__doc__,
    source="Jepsen: Redpanda 21.11.2",
    affected="Redpanda 21.11.2, by another cause",
    anomalies=("lost-or-stale-after-membership",),
    substitutes=(StallsAfterReassignment,),
)
