"""The result and the log line of an append that a leader refuses. Mirrors the error cases of
ReplicaManager.appendToLocalLog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.log.append_results import UNKNOWN_OFFSET, PartitionAppend, RecordsRefused
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.replication.partition import Partition

__all__ = ["refused_append"]

_log = Logger()
_EXPECTED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS)
"""The states of the cluster that clients retry: they would fill the log."""


def refused_append(broker_id: int, partition: Partition, refused: RecordsRefused) -> PartitionAppend:
    """Count and log the refusal, and return the partition's result."""
    partition.topic_stats.refused()
    if refused.error_code is ErrorCode.UNKNOWN_SERVER_ERROR:
        _log.failure(
            "broker {broker_id}: error processing append operation on partition {partition}: {reason}",
            broker_id=broker_id,
            partition=partition.topic_partition,
            reason=refused.reason,
        )
    elif refused.error_code not in _EXPECTED:
        _log.info(
            "broker {broker_id}: refusing records partition={partition} error={error}: {reason}",
            broker_id=broker_id,
            partition=partition.topic_partition,
            error=refused.error_code.name,
            reason=refused.reason,
        )
    return PartitionAppend(
        partition.topic_partition,
        refused.error_code,
        log_start_offset=partition.log.log_start_offset if refused.log_start_offset_known else UNKNOWN_OFFSET,
        record_errors=refused.record_errors,
        error_message=refused.message,
    )
