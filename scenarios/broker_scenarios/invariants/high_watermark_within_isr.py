"""high-watermark-within-isr: every member of the ISR holds all records below a leader's high watermark.

Mirrors the rule of Partition.maybeIncrementLeaderHW (KIP-497). The ISR is the leader's, and the controller's as well
while it has the same leader epoch: a member of either may be the next leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant
from broker_sim.control.events import HighWatermarkAdvanced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.control.events import Event

__all__ = ["HighWatermarkWithinIsr"]


class HighWatermarkWithinIsr(Invariant):
    """Compares each new high watermark with the ends of the members' logs."""

    kind = FindingKind.HIGH_WATERMARK_WITHIN_ISR
    claim = (
        "every member of the ISR, as the leader and the controller have it, holds all records below a "
        "leader's high watermark"
    )
    events = (HighWatermarkAdvanced,)

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the members that lack a record."""
        assert isinstance(event, HighWatermarkAdvanced), "it is the only kind"
        partition = self.cluster.led(event)
        members = set() if partition is None else set(partition.isr)
        registration = self.cluster.registration(event)
        if registration is not None and registration.leader_epoch == event.leader_epoch:
            members |= set(registration.isr)
        for member in sorted(members - {event.broker_id}):
            log = self.cluster.log(member, event)
            end = 0 if log is None else log.log_end_offset
            if end < event.high_watermark and not self.cluster.is_returning(member, event):
                yield Broken(
                    subject=(self.cluster.key(event), event.leader_epoch, member),
                    detail=f"the high watermark is {event.high_watermark}, broker {member} of the ISR ends at {end}",
                    topic=event.topic,
                    partition=event.partition,
                    offset=end,
                )
