"""Retention: deletes segments by age, by size, and below the log start offset. Mirrors UnifiedLog.deleteOldSegments.

Segments are deleted in the order of the log, only below the high watermark, and never an empty active one. Before the
last segment is deleted, a new active segment begins at the log's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.log.log_segment import LogSegment
    from broker_sim.log.replica_log import ReplicaLog


def delete_old_segments(log: ReplicaLog, now_ms: int) -> int:
    """Delete the segments that the topic's `cleanup.policy` does not retain; returns the number of deleted segments.

    Every policy deletes segments below the log start offset. A policy with `delete` applies `retention.bytes` and
    `retention.ms`; a negative value retains everything.
    """
    deleted = _delete_below_log_start(log, now_ms)
    config = log.config
    if config.delete:
        if config.retention_bytes >= 0:
            deleted += _delete_beyond_size(log, config.retention_bytes, now_ms)
        if config.retention_ms >= 0:
            deleted += _delete_beyond_age(log, config.retention_ms, now_ms)
    return deleted


def _delete_below_log_start(log: ReplicaLog, now_ms: int) -> int:
    def is_below(_: LogSegment, next_segment: LogSegment | None) -> bool:
        return next_segment is not None and next_segment.base_offset <= log.log_start_offset

    return _delete_while(log, is_below, now_ms)


def _delete_beyond_size(log: ReplicaLog, retention_bytes: int, now_ms: int) -> int:
    excess = log.size_in_bytes - retention_bytes
    if excess < 0:
        return 0

    def is_in_excess(segment: LogSegment, _: LogSegment | None) -> bool:
        nonlocal excess
        if excess < segment.size:
            return False
        excess -= segment.size
        return True

    return _delete_while(log, is_in_excess, now_ms)


def _delete_beyond_age(log: ReplicaLog, retention_ms: int, now_ms: int) -> int:
    def is_too_old(segment: LogSegment, _: LogSegment | None) -> bool:
        return now_ms - segment.largest_timestamp > retention_ms

    return _delete_while(log, is_too_old, now_ms)


def _delete_while(log: ReplicaLog, is_due: Callable[[LogSegment, LogSegment | None], bool], now_ms: int) -> int:
    segments = log.segments
    count = 0
    for index, segment in enumerate(segments):
        is_last = index + 1 == len(segments)
        next_segment = None if is_last else segments[index + 1]
        end = log.log_end_offset if next_segment is None else next_segment.base_offset
        if log.high_watermark < end or not is_due(segment, next_segment) or (is_last and not segment.size):
            break
        count += 1
    return log.delete_segments(count, now_ms)
