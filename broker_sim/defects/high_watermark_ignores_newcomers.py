"""The high watermark does not wait for a replica that is about to join the ISR.

A leader proposes a larger ISR to the controller and waits for the response. Meanwhile it moves the high watermark with
the present ISR alone, and acknowledges records that the new member lacks. The controller may have added the member
already: if it is elected before it has fetched these records, they are lost although `acks=all` was used. A leader
that waits for every replica of the ISR that it has proposed (the maximal ISR, KAFKA-12686) acknowledges nothing too
early.
"""

from __future__ import annotations

from typing import Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.isr import committed
from broker_sim.replication.partition import Partition

__all__ = ["DEFECT"]


class NewcomersAreIgnored(Partition):
    """Computes the high watermark as if no change of the ISR were proposed."""

    __slots__ = ()

    def maybe_increment_high_watermark(self, now_ms: int) -> bool:
        """Move the high watermark to the smallest end of the committed ISR."""
        state, followers = self.isr_state, self.followers
        self.isr_state = without_proposal = committed(state.isr)
        self.followers = {key: follower for key, follower in followers.items() if key in state.isr}
        try:
            return super().maybe_increment_high_watermark(now_ms)
        finally:
            self.followers = followers
            if self.isr_state is without_proposal:
                self.isr_state = state


DEFECT: Final = Defect(
    name="high-watermark-ignores-newcomers",
    lesson=__doc__,
    source="KAFKA-12686; KAFKA-9672",
    affected="Apache Kafka before 3.0, as a race",
    anomalies=("isr-race-hw-advance",),
    substitutes=(NewcomersAreIgnored,),
)
