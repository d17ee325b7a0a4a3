"""Compaction removes the marker of an aborted transaction whose records it keeps.

The cleaner decides by a list of aborted transactions which records to remove, and which markers end nothing any more.
This one leaves out the last transaction of the section that it cleans. It takes the records for committed ones and
keeps them, and the marker for one without a transaction, which it deletes after `delete.retention.ms`. From then on
consumers with `read_committed` read the aborted records. A cleaner with the whole list removes the records first, and
the marker in a later round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.replica_log import ReplicaLog

if TYPE_CHECKING:
    from broker_sim.log.transaction_index import AbortedTransaction

__all__ = ["DEFECT"]


class LastAbortIsLeftOut(ReplicaLog):
    """Gives the cleaner all aborted transactions but the last one."""

    __slots__ = ()

    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that overlap with a range of offsets, without the last one."""
        return super().aborted_transactions(fetch_offset, upper_bound_offset)[:-1]


DEFECT: Final = Defect(
    name="cleaner-loses-abort-markers",
    lesson=__doc__,
    source="KAFKA-13727",
    affected="Apache Kafka before 2.8.2, 3.1.1 and 3.2.0",
    anomalies=("compaction-gap",),
    substitutes=(LastAbortIsLeftOut,),
    since="0.11.0",
)
