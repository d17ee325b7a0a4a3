"""A leader returns the records of open transactions to consumers with `isolation.level=read_committed`.

The read is limited by the high watermark in place of the last stable offset. A consumer cannot filter these records:
the list of aborted transactions has only those that have ended. It reads records that may be aborted later, and a
service that consumes and produces in transactions can read its own records before it commits them. A read that is
limited by the last stable offset shows a transaction when it has ended.
"""

from __future__ import annotations

from typing import Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.partition import Partition
from broker_sim.replication.requests import FetchIsolation

__all__ = ["DEFECT"]


class ReadsOpenTransactions(Partition):
    """Limits a read of committed records by the high watermark."""

    __slots__ = ()

    def read_bound(self, isolation: FetchIsolation) -> int:
        """Return the high watermark for all consumers."""
        if isolation is FetchIsolation.TXN_COMMITTED:
            return super().read_bound(FetchIsolation.HIGH_WATERMARK)
        return super().read_bound(isolation)


DEFECT: Final = Defect(
    name="read-committed-above-stable-offset",
    lesson=__doc__,
    source="Jepsen: Bufstream 0.1.0",
    affected="Bufstream 0.1.0",
    anomalies=("txn-polls-own-write",),
    substitutes=(ReadsOpenTransactions,),
    since="0.11.0",
)
