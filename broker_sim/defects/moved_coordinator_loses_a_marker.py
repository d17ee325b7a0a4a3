"""A coordinator that continues with a prepared transaction does not write the marker of one of its partitions.

The response to a commit is sent when the transaction log has it; the markers follow. If the coordinator fails in
between, the next one reads the transaction from the log and writes the markers. This one leaves out the last
partition, and completes the transaction without it. The producer has its commit. In the other partitions the records
are read, in this one they never are: the last stable offset stays, and hides everything that is written later, also by
others. Kafka has had several bugs of this kind; since they are fixed, a marker is sent until its partition has it.
"""

from __future__ import annotations

from typing import Final

from broker_sim.coordinators.transactions.transaction_shard import TransactionShard
from broker_sim.coordinators.transactions.transaction_state import PREPARE
from broker_sim.defects.defect import Defect

__all__ = ["DEFECT"]


class LosesAMarker(TransactionShard):
    """Forgets the last partition of each prepared transaction."""

    def loaded(self) -> None:
        """Continue with the markers of the other partitions."""
        for metadata in self.transactions.values():
            if metadata.state in PREPARE and metadata.partitions:
                metadata.partitions.popitem()
        super().loaded()


DEFECT: Final = Defect(
    name="moved-coordinator-loses-a-marker",
    lesson=__doc__,
    source="KAFKA-9307; KAFKA-9777; KAFKA-10080; KAFKA-16352",
    affected="Apache Kafka before 2.4.1, 2.6.0 and 3.8.0, each by another race",
    anomalies=("stuck-prepare",),
    substitutes=(LosesAMarker,),
    since="0.11.0",
)
