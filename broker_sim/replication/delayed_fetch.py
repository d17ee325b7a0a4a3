"""A Fetch that waits for bytes. Mirrors DelayedFetch.

It completes by the first of:
  A. a partition that this broker no longer leads (or, for a reader of followers, hosts) or no longer knows;
  B. a leader epoch in the request that is fenced by a newer one;
  C. a fetch offset that has left the log: the log was truncated below it;
  D. `min_bytes` readable in all partitions together, each up to its own `max_bytes`; of one that is throttled for a
     follower no byte is readable;
  E. a diverging epoch for a follower (KIP-595), which needs no bytes;
  F. the deadline `max_wait_ms`.
Completing reads every partition again, and the results may be errors: A, B, C and E are only reasons to read. The
readable bytes of each partition are kept, so that news of one partition needs no read of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.partition import Partition
    from broker_sim.replication.requests import FetchParams, PartitionFetch, PartitionFetchResult
    from broker_sim.topic_partition import TopicPartition


class DelayedFetch:
    """One parked Fetch, with the readable bytes of each partition at its last check."""

    __slots__ = ("_read", "_readable", "_readable_total", "_throttles", "completed", "deferred", "params", "partitions")

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
            return True  # C, E
        bound = partition.read_bound(params.isolation)
        readable = 0
        if offset < bound and not (self._throttles is not None and self._throttles(partition, params.replica_id)):
            max_bytes = min(fetch.max_bytes, params.min_bytes)
            readable = sum(batch.size for batch in log.read(offset, max_bytes=max_bytes, up_to=bound))
        topic_partition = partition.topic_partition
        self._readable_total += readable - self._readable.get(topic_partition, 0)
        self._readable[topic_partition] = readable
        return self._readable_total >= params.min_bytes  # D

    def complete(self) -> None:
        """Complete with the readable records; a second call does nothing."""
        if self.completed:
            return
        self.completed = True
        self.deferred.callback(self._read(self))

    def expire(self) -> None:
        """Complete by case F."""
        self.complete()
