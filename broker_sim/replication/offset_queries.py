"""Lookups in a hosted partition for ListOffsets and OffsetForLeaderEpoch. Mirrors Partition.fetchOffsetForTimestamp
and Partition.lastOffsetForLeaderEpoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.replication.requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    EpochEndOffsetResult,
    FetchIsolation,
    OffsetResult,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import RecordBatchError

if TYPE_CHECKING:
    from broker_sim.replication.partition import Partition

MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5


def list_offset(partition: Partition, timestamp: int, isolation: FetchIsolation | None) -> OffsetResult:
    """Return the offset of a timestamp.

    Without tiered storage the local log is the whole log, and -5 finds nothing.

    A new leader whose high watermark has not reached the start of its epoch has no offsets for consumers yet.
    """
    log = partition.log
    bound = log.log_end_offset if isolation is None else partition.read_bound(isolation)
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return OffsetResult(
            offset=log.log_start_offset, leader_epoch=_epoch(log.epochs.epoch_for(log.log_start_offset))
        )
    epoch_start = partition.leader_epoch_start_offset
    lagging = isolation is not None and epoch_start is not None and epoch_start > log.high_watermark
    if timestamp == LATEST_TIMESTAMP:
        if lagging:
            return OffsetResult(error_code=ErrorCode.OFFSET_NOT_AVAILABLE)
        return OffsetResult(offset=bound, leader_epoch=partition.leader_epoch)
    if timestamp == LATEST_TIERED_TIMESTAMP:
        return OffsetResult()
    try:
        found = log.max_timestamp_offset() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    except RecordBatchError as error:
        # The log has a compressed batch whose records cannot be read: see protocol_specs/records/partial_reader.py.
        return OffsetResult(error_code=error.error_code)
    if found is not None and found.offset < bound:
        return OffsetResult(timestamp=found.timestamp, offset=found.offset, leader_epoch=found.leader_epoch)
    if lagging:
        return OffsetResult(error_code=ErrorCode.OFFSET_NOT_AVAILABLE)
    return OffsetResult()


def last_offset_for_leader_epoch(partition: Partition, leader_epoch: int) -> EpochEndOffsetResult:
    """Return the end of an epoch in this log (KIP-279: of the largest epoch not above the requested one)."""
    found = partition.log.epochs.end_offset_for(leader_epoch, partition.log.log_end_offset)
    return EpochEndOffsetResult(leader_epoch=found.epoch, end_offset=found.end_offset)


def _epoch(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
