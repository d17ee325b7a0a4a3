"""The offset at which a follower truncates its log when the leader's log diverges (KIP-101, KIP-279). Mirrors
AbstractFetcherThread.getOffsetTruncationState.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_sim.log.leader_epoch_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET

if TYPE_CHECKING:
    from broker_sim.log.replica_log import ReplicaLog


class OffsetTruncationState(NamedTuple):
    """The offset to truncate to; if not `completed`, the follower requests the leader's epoch end once more."""

    offset: int
    completed: bool


def truncation_offset(log: ReplicaLog, leader_epoch: int, leader_end_offset: int) -> int:
    """Return the offset to truncate to, given an epoch of the leader and the offset where it ends there."""
    return offset_truncation_state(log, leader_epoch, leader_end_offset).offset


def offset_truncation_state(log: ReplicaLog, leader_epoch: int, leader_end_offset: int) -> OffsetTruncationState:
    """Return the offset to truncate to, and whether the truncation is complete with it.

    A follower that does not know the epoch truncates to the end of its own next older one, and requests the leader's
    epoch end again. A leader that returns an offset alone is older than KIP-279; one without an offset has no epochs.
    """
    log_end_offset = log.log_end_offset
    if leader_end_offset == UNDEFINED_EPOCH_OFFSET:
        return OffsetTruncationState(min(log.high_watermark, log_end_offset), completed=True)
    if leader_epoch == UNDEFINED_EPOCH:
        return OffsetTruncationState(min(leader_end_offset, log_end_offset), completed=True)
    epoch, end_offset = log.epochs.end_offset_for(leader_epoch, log_end_offset)
    if epoch == UNDEFINED_EPOCH:
        return OffsetTruncationState(min(leader_end_offset, log_end_offset), completed=True)
    if epoch != leader_epoch:
        return OffsetTruncationState(min(end_offset, log_end_offset), completed=False)
    return OffsetTruncationState(min(end_offset, leader_end_offset, log_end_offset), completed=True)
