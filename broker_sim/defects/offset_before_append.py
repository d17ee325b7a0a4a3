"""A leader computes the offset for an acknowledgement before the append, from the end of the replicated log.

While a batch is appended and not replicated yet, the next batch finds the same replicated end, and its acknowledgement
gets the offset of the batch before it. Two acknowledged records share an offset, and the later one is somewhere else.
In the log both are in their places: a consumer sees nothing. The offset that the append itself assigns is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.partition import Partition

if TYPE_CHECKING:
    from broker_sim.log.append_results import PartitionAppend

__all__ = ["DEFECT"]


class OffsetsAreComputedEarly(Partition):
    """Returns the high watermark of before the append as the offset of the batch, where that is lower."""

    __slots__ = ()

    def append_records_to_leader(self, *batch: Any, **options: Any) -> PartitionAppend:
        """Append, and return an offset that may be that of an earlier batch."""
        computed = self.log.high_watermark
        result = super().append_records_to_leader(*batch, **options)
        result.base_offset = min(result.base_offset, computed)
        return result


DEFECT: Final = Defect(
    name="offset-before-append",
    lesson=__doc__,
    source="KAFKA-7866; redpanda-data/redpanda#3003",
    affected="Redpanda 21.10; Apache Kafka before 2.0.2 and 2.1.1, after a failed append to a transaction index",
    anomalies=("two-acks-one-offset",),
    substitutes=(OffsetsAreComputedEarly,),
)
