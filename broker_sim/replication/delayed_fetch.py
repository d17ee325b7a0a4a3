"""A Fetch that waits for bytes. Mirrors DelayedFetch.

It completes by the first of:
  A. a partition that this broker no longer leads (or, for a reader of followers, hosts) or no longer knows;
  B. a leader epoch in the request that is fenced by a newer one;
  C. a fetch offset that has left the log: the log was truncated below it;
  D. a fetch offset in an older segment than the end of what is readable, however few the bytes: a Fetch reads one
     segment, and cannot get more of it later;
  E. `min_bytes` readable in all partitions together, each up to its own `max_bytes`;
  F. a diverging epoch for a follower (KIP-595), which needs no bytes;
  G. the deadline `max_wait_ms`.
A partition that is throttled for a follower completes nothing by D, and none of its bytes is readable.
Completing reads every partition again, and the results may be errors: A, B, C and F are only reasons to read. The
readable bytes of each partition are kept, so that news of one partition needs no read of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_sim.log.log_directories import LogDirectoryOffline

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.partition import Partition
    from broker_sim.replication.requests import FetchParams, PartitionFetch, PartitionFetchResult
    from broker_sim.topic_partition import TopicPartition


class DelayedFetch:
    """One parked Fetch, with the readable bytes of each partition at its last check.

    `_segments` has the base offset of the segment in which the fetch offset of each partition was at its first check,
    when the Fetch came: an offset at the end of the log stays in the segment that was active, also when the next batch
    begins a new one.
    """

    __slots__ = (
        "_read",
        "_readable",
        "_readable_total",
        "_segments",
        "_throttles",
        "completed",
        "deferred",
        "params",
        "partitions",
    )

    def __init__(
        self,
        *,
        params: FetchParams,
        partitions: dict[TopicPartition, PartitionFetch],
        read: Callable[[DelayedFetch], list[PartitionFetchResult]],
        throttles: Callable[[Partition, int], bool] | None = None,
    ) -> None:
        self.params = params
        self.partitions = partitions
        self.deferred: Deferred[list[PartitionFetchResult]] = Deferred()
        self.completed = False
        self._readable: dict[TopicPartition, int] = {}
        self._readable_total = 0
        self._segments: dict[TopicPartition, int] = {}
        self._read = read
        self._throttles = throttles

    def has_enough(self, partition: Partition) -> bool:
        """Check one partition; return True if the operation should complete."""
        fetch = self.partitions[partition.topic_partition]
        params = self.params
        if partition.check_access(fetch.current_leader_epoch, leader_only=params.fetch_only_leader):
            return True  # A, B
        log = partition.log
        offset = fetch.fetch_offset
        if not partition.agrees_with(fetch.last_fetched_epoch, offset):
            return True  # C, F
        topic_partition = partition.topic_partition
        segment = self._segments.setdefault(topic_partition, log.segment_base_offset(offset))
        bound = partition.read_bound(params.isolation)
        readable = 0
        if offset < bound and not (self._throttles is not None and self._throttles(partition, params.replica_id)):
            if segment < log.segment_base_offset(bound):
                return True  # D
            limit = min(fetch.max_bytes, params.min_bytes)
            try:
                batches = log.read(offset, max_bytes=limit, up_to=bound, fragment=True)
            except LogDirectoryOffline:
                return True  # the log cannot be read
            readable = min(sum(batch.size for batch in batches), limit)
        self._readable_total += readable - self._readable.get(topic_partition, 0)
        self._readable[topic_partition] = readable
        return self._readable_total >= params.min_bytes  # E

    def complete(self) -> None:
        """Complete with the readable records; a second call does nothing."""
        if self.completed:
            return
        self.completed = True
        self.deferred.callback(self._read(self))

    def expire(self) -> None:
        """Complete by case G."""
        self.complete()
