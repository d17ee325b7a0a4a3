"""A leader refuses the retry of a batch that it has stored, with DUPLICATE_SEQUENCE_NUMBER (46).

The leader recognizes the duplicate, but does not return the offset of the stored batch. A client that takes 46 for an
error sends the record again with another sequence: a duplicate. A client that takes it for a success, as Java's does,
cannot report the offset of the record. With KIP-98 as Kafka implements it since 1.0, the response to a recent
duplicate is that of the original (KAFKA-5494).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.producer_state import ProducerStateManager
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.log.producer_state import BatchMetadata

__all__ = ["DEFECT"]


class DuplicatesAreRefused(ProducerStateManager):
    """Raises an error for a batch that it knows."""

    __slots__ = ()

    def find_duplicate(self, *batch: int) -> BatchMetadata | None:
        """Return None. Raises RecordsRefused for a known batch."""
        if super().find_duplicate(*batch) is not None:
            raise RecordsRefused(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, "The batch was appended before")
        return None


DEFECT: Final = Defect(
    name="dedup-returns-46",
    lesson=__doc__,
    source="KAFKA-5494; redpanda-data/redpanda#3039",
    affected="Apache Kafka 0.11 for all but the last batch; Redpanda",
    anomalies=("broker-no-dedup-epoch-bump", "dedup-window-5"),
    substitutes=(DuplicatesAreRefused,),
    since="0.11.0",
)
