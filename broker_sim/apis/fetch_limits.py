"""A Fetch with a negative byte limit: reading fails where there is something to read. Mirrors LogSegment.read.

Kafka meets the negative limit only when it slices the log, so that every other error, and an empty read, come first;
the partition then has UNKNOWN_SERVER_ERROR. A negative limit of the whole request fails its first partition alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_sim.replication.requests import PartitionFetchResult
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.replication.replica_manager import ReplicaManager
    from broker_sim.replication.requests import FetchParams, PartitionFetch

__all__ = ["has_negative_limit", "read_with_negative_limits"]


def has_negative_limit(params: FetchParams, partitions: Sequence[PartitionFetch]) -> bool:
    """Return True if any limit is below zero."""
    return params.max_bytes < 0 or any(partition.max_bytes < 0 for partition in partitions)


def read_with_negative_limits(
    replica_manager: ReplicaManager, params: FetchParams, partitions: Sequence[PartitionFetch]
) -> list[PartitionFetchResult]:
    """Read without waiting, partition by partition."""
    left = params.max_bytes
    results: list[PartitionFetchResult] = []
    for partition in partitions:
        limit = min(left, partition.max_bytes)
        # Old versions do not get a first batch beyond the limit; a negative one is met before that is looked at.
        hard = params.hard_max_bytes and limit >= 0
        one = replace(params, max_wait_ms=0, max_bytes=max(1, limit), hard_max_bytes=hard)
        read = replica_manager.fetch(params=one, partitions=[replace(partition, max_bytes=max(1, limit))])
        assert isinstance(read, list)  # nothing waits for 0 ms
        [result] = read
        if limit < 0 and result.batches:
            result = PartitionFetchResult(
                topic_partition=result.topic_partition, error_code=ErrorCode.UNKNOWN_SERVER_ERROR
            )
        elif limit <= 0 and any(earlier.batches for earlier in results):
            result.batches = []
        left = max(0, left - result.size_in_bytes)
        results.append(result)
    return results
