"""A coordinator takes the offsets of a transaction from a consumer that has lost its partitions.

A service reads, writes and commits its offsets in a transaction. It pauses, the group gives its partitions to another
instance, which processes the same records and commits. Then the first one continues: if the coordinator does not
compare the member and the generation of TxnOffsetCommit with the group, its transaction commits too, and both outputs
are read. Since KIP-447 (2.5) the request has both fields, and the coordinator refuses with ILLEGAL_GENERATION (22) or
UNKNOWN_MEMBER_ID (25). With older requests one transactional id per input partition fences the first instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.groups.offsets.offset_metadata_manager import OffsetMetadataManager
from broker_sim.defects.defect import Defect

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from protocol_specs.error_codes import ErrorCode

__all__ = ["DEFECT"]

NO_GENERATION: Final = -1


class AnyMemberCommits(OffsetMetadataManager):
    """Treats each commit of a transaction as that of a client which is in no group."""

    def commit_transactional(self, **commit: Any) -> CoordinatorResult[list[ErrorCode]]:
        """Commit offsets within a transaction, without a member and a generation."""
        anonymous = {"member_id": "", "group_instance_id": None, "generation_id": NO_GENERATION}
        return super().commit_transactional(**{**commit, **anonymous})


DEFECT: Final = Defect(
    name="transactional-offsets-of-any-member",
    lesson=__doc__,
    source="KIP-447",
    affected="Apache Kafka before 2.5",
    anomalies=("zombie-consumer-offsets",),
    substitutes=(AnyMemberCommits,),
    since="2.5",
)
