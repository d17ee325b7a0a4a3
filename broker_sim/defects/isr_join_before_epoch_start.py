"""A follower joins the ISR although it lacks records from before the present leader epoch.

The leader lets a follower join as soon as its end has reached the high watermark. A new leader's high watermark can be
behind what the former leader has acknowledged, because followers get it with their next fetch. So a follower without
the last acknowledged records joins; if it is elected next, these records are lost although `acks=all` was used. Since
KAFKA-7128 the follower must also have reached the offset at which the leader's epoch began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.isr import expanding
from broker_sim.replication.partition import Partition

if TYPE_CHECKING:
    from broker_sim.replication.isr import FollowerState

__all__ = ["DEFECT"]


class JoinsAtHighWatermark(Partition):
    """Compares a follower's end with the high watermark alone."""

    __slots__ = ()

    def _maybe_expand_isr(self, follower: FollowerState) -> None:
        state = self.isr_state
        if state.in_flight or not self.is_leader or not self._may_join_isr(follower):
            return
        if follower.log_end_offset >= self.log.high_watermark:
            self._propose(expanding(state.isr, follower.broker_id))


DEFECT: Final = Defect(
    name="isr-join-before-epoch-start",
    lesson=__doc__,
    source="KAFKA-7128",
    affected="Apache Kafka before 2.0.1 and 2.1.0",
    anomalies=("isr-join-before-epoch-start",),
    substitutes=(JoinsAtHighWatermark,),
)
