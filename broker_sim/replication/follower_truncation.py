"""Where a follower cuts its log when the leader's disagrees (KIP-101, KIP-279). Mirrors
AbstractFetcherThread.getOffsetTruncationState.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.log.leader_epoch_cache import UNDEFINED_EPOCH

if TYPE_CHECKING:
    from broker_sim.log.replica_log import ReplicaLog


def truncation_offset(log: ReplicaLog, leader_epoch: int, leader_end_offset: int) -> int:
    """The offset to truncate to, given an epoch of the leader and the offset where it ends there.

    When the follower does not know that epoch it cuts to the end of its own next older one, and has to ask again.
    """
    log_end_offset = log.log_end_offset
    if leader_epoch == UNDEFINED_EPOCH:
        return min(leader_end_offset, log_end_offset)
    epoch, end_offset = log.epochs.end_offset_for(leader_epoch, log_end_offset)
    if epoch == UNDEFINED_EPOCH:
        return min(leader_end_offset, log_end_offset)
    if epoch != leader_epoch:
        return min(end_offset, log_end_offset)
    return min(end_offset, leader_end_offset, log_end_offset)
