"""A ShareFetch that waits for records. Mirrors DelayedShareFetch.

It completes by the first of:
  A. a partition cannot be read: its log has lost the fetch offset, or the broker does not lead it;
  B. `min_bytes` are readable in all partitions together that have records to acquire;
  C. the deadline `max_wait_ms`.
Completing acquires the records, first those of the partitions whose fetch offset an earlier try has located in the log.
While a partition reads its stored state, or as many of its records are in delivery as may be, it has nothing to
acquire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.replication.requests import FetchParams, PartitionFetch, PartitionFetchResult
from broker_sim.share_partitions.aborted_records import archive_aborted
from broker_sim.share_partitions.acquisition import AcquireRequest, acquire
from broker_sim.share_partitions.whole_batches import overlapping_batches, whole_batches
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_fetch import AcquiredRecords, PartitionData

if TYPE_CHECKING:
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
    from broker_sim.replication.replica_manager import ReplicaManager
    from broker_sim.share_partitions.share_error import ShareError
    from broker_sim.share_partitions.share_partition import SharePartition
    from broker_sim.share_partitions.share_sessions import TopicIdPartition

__all__ = ["DelayedShareFetch", "ShareFetch"]


@dataclass(slots=True, kw_only=True)
class ShareFetch:
    """The parameters of one ShareFetch, and the partitions that have failed so far. Mirrors ShareFetch."""

    group_id: str
    member_id: str
    params: FetchParams
    record_limit: bool
    max_records: int
    batch_size: int
    errors: dict[TopicIdPartition, ShareError] = field(default_factory=dict)


_UNKNOWN: Final = ErrorCode.UNKNOWN_SERVER_ERROR

Acquirable = dict["TopicIdPartition", int]
"""The partitions that have records to acquire, with their fetch offsets."""


class DelayedShareFetch:
    """One parked ShareFetch. The Deferred fires with the data of each partition that was read or has failed."""

    def __init__(
        self, fetch: ShareFetch, partitions: dict[TopicIdPartition, SharePartition], replica_manager: ReplicaManager
    ) -> None:
        self.completed = False
        self.deferred: Deferred[dict[TopicIdPartition, PartitionData]] = Deferred()
        self.partitions = partitions
        self.acquired: list[SharePartitionKey] = []
        """The share partitions that it has read in the end."""
        self._fetch = fetch
        self._replica_manager = replica_manager

    def try_complete(self) -> bool:
        """Complete if there is enough; return True if it is complete."""
        if self.completed:
            return True
        acquirable = self._acquirable()
        if not acquirable:
            return False
        located = {key: offset for key, offset in acquirable.items() if self.partitions[key].located_offset == offset}
        count = len(acquirable)
        located_now = self._read({key: offset for key, offset in acquirable.items() if key not in located}, count)
        for key, result in located_now.items():
            if not result.error_code:
                self.partitions[key].located_offset = acquirable[key]
        # Kafka has read the others to learn where their offsets are: these results come last.
        results = {**self._read(located, count), **located_now}
        limits = self._byte_limits(acquirable, count)
        readable = sum(min(result.size_in_bytes, limits[key]) for key, result in results.items())
        if not any(result.error_code for result in results.values()) and readable < self._fetch.params.min_bytes:
            return False
        self._complete(acquirable, results)
        return True

    def expire(self) -> None:
        """Complete by case C."""
        acquirable = self._acquirable()
        self._complete(acquirable, self._read(acquirable, len(acquirable)))

    def _acquirable(self) -> Acquirable:
        return {
            key: partition.next_fetch_offset()
            for key, partition in self.partitions.items()
            if partition.is_active and partition.can_acquire()
        }

    def _byte_limits(self, read: Acquirable, count: int) -> dict[TopicIdPartition, int]:
        """Divide the bytes equally between all acquirable partitions, `count`, of which some are read together.

        The rest is for the first of those that are read. Mirrors PartitionMaxBytesStrategy.
        """
        max_bytes = self._fetch.params.max_bytes
        each, rest = divmod(max_bytes, count if max_bytes >= count else len(read))
        if not each:
            return {key: int(index < rest) for index, key in enumerate(read)}
        return {key: each + (0 if index else rest) for index, key in enumerate(read)}

    def _read(self, acquirable: Acquirable, count: int) -> dict[TopicIdPartition, PartitionFetchResult]:
        """Read some of the acquirable partitions, of which there are `count`."""
        if not acquirable:
            return {}
        params = self._fetch.params
        if params.max_bytes < 0:
            # Kafka refuses to divide a negative number of bytes, which fails every partition that it would read.
            return {
                key: PartitionFetchResult(topic_partition=self.partitions[key].topic_partition, error_code=_UNKNOWN)
                for key in acquirable
            }
        limits = self._byte_limits(acquirable, count)
        left, at_least_one = params.max_bytes, True
        results: dict[TopicIdPartition, PartitionFetchResult] = {}
        for key, offset in acquirable.items():
            topic_partition = self.partitions[key].topic_partition
            request = PartitionFetch(topic_partition=topic_partition, fetch_offset=offset, max_bytes=limits[key])
            result = self._replica_manager.read_partition(
                params,
                request,
                max_bytes=min(left, request.max_bytes),
                at_least_one=at_least_one,
                update_follower=False,
            )
            if result.size_in_bytes:
                at_least_one = False
                left = max(0, left - result.size_in_bytes)
            results[key] = result
        return results

    def _complete(self, acquirable: Acquirable, results: dict[TopicIdPartition, PartitionFetchResult]) -> None:
        self.completed = True
        self.acquired = [self.partitions[key].key for key in acquirable]
        data: dict[TopicIdPartition, PartitionData] = {}
        acquired = 0
        for key, result in results.items():
            if result.error_code:
                data[key] = self._refused(key, result)
            else:
                data[key], count = self._acquired(key, result, acquirable[key], acquired)
                acquired += count
        for key, error in self._fetch.errors.items():
            data[key] = PartitionData(partition_index=key.partition, error_code=error.error_code, records=b"")
        self.deferred.callback(data)

    def _refused(self, key: TopicIdPartition, result: PartitionFetchResult) -> PartitionData:
        data = PartitionData(partition_index=key.partition, error_code=result.error_code, records=b"")
        if result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            partition = self.partitions[key]
            hosted = self._replica_manager.get_partition(partition.topic_partition)
            if not isinstance(hosted, ErrorCode):
                partition.log_start_moved(hosted.log.log_start_offset)
                data.error_code = ErrorCode.NONE
        return data

    def _acquired(
        self, key: TopicIdPartition, result: PartitionFetchResult, offset: int, acquired: int
    ) -> tuple[PartitionData, int]:
        fetch = self._fetch
        request = AcquireRequest(
            member_id=fetch.member_id,
            record_limit=fetch.record_limit,
            batch_size=fetch.batch_size,
            max_records=fetch.max_records - acquired,
            fetch_offset=offset,
        )
        partition = self.partitions[key]
        batches = whole_batches(result.batches)
        ranges, count = acquire(partition, request, batches)
        if ranges and result.aborted_transactions:
            ranges = archive_aborted(partition, ranges, batches, result.aborted_transactions)
            count = sum(each.last_offset - each.first_offset + 1 for each in ranges)
        data = PartitionData(partition_index=key.partition, records=b"")
        if ranges:
            batches = overlapping_batches(result.batches, ranges[0].first_offset, ranges[-1].last_offset)
            data.records = b"".join(batch.data for batch in batches)
            data.acquired_records = [
                AcquiredRecords(
                    first_offset=each.first_offset, last_offset=each.last_offset, delivery_count=each.delivery_count
                )
                for each in ranges
            ]
        return data, count
