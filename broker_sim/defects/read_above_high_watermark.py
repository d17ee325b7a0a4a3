"""A leader returns records to consumers before they are replicated.

The read of a consumer is limited by the end of the log in place of the high watermark; in Kafka this happened to a
fetch that ran during an append. If the leader fails before the followers have the records, another broker leads
without them: the consumer has read records that do not exist, and other records get their offsets. A read that is
limited by the high watermark of its beginning never shows them.
"""

from __future__ import annotations

from typing import Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.partition import Partition
from broker_sim.replication.requests import FetchIsolation

__all__ = ["DEFECT"]


class ReadsToTheEnd(Partition):
    """Limits a read by the end of the log."""

    __slots__ = ()

    def read_bound(self, isolation: FetchIsolation) -> int:
        """Return the log end offset for consumers that read uncommitted records."""
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self.log.log_end_offset
        return super().read_bound(isolation)


DEFECT: Final = Defect(
    name="read-above-high-watermark",
    lesson=__doc__,
    source="KAFKA-9835",
    affected="Apache Kafka before 2.5.1 and 2.6.0, as a race",
    anomalies=("read-above-hw",),
    substitutes=(ReadsToTheEnd,),
)
