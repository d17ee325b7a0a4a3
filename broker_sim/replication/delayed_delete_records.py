"""A DeleteRecords that waits for every live replica to move its log start. Mirrors DelayedDeleteRecords.

Each partition of the request ends by the first of:
  A. an error on the leader: nothing is deleted, low watermark -1;
  B. this broker no longer leads it: NOT_LEADER_OR_FOLLOWER (a deleted one: UNKNOWN_TOPIC_OR_PARTITION), -1;
  C. the low watermark has reached the offset: NONE, and the low watermark;
  D. the deadline: REQUEST_TIMED_OUT, and the low watermark as it was after the leader's own deletion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.log.replica_log import OffsetOutOfRange
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.replication.partition import Partition
    from broker_sim.topic_partition import TopicPartition

HIGH_WATERMARK: Final = -1
INVALID_LOW_WATERMARK: Final = -1


@dataclass(slots=True, kw_only=True)
class DeleteResult:
    """The result of one partition of a DeleteRecords."""

    requested_offset: int = -1
    low_watermark: int = INVALID_LOW_WATERMARK
    error_code: ErrorCode = ErrorCode.NONE


DeleteResults: TypeAlias = "Mapping[TopicPartition, DeleteResult]"


class PartitionsHost(Protocol):
    """The parts of the broker's ReplicaManager that a deletion uses."""

    config: BrokerConfig

    def get_partition(self, topic_partition: TopicPartition, topic_id: bytes | None = None) -> Partition | ErrorCode:
        """Return the hosted partition, or the error for a missing one."""


def delete_on_leader(host: PartitionsHost, offsets: Mapping[TopicPartition, int]) -> DeleteResults:
    """Move the log start offsets of this broker's logs. Mirrors ReplicaManager.deleteRecordsOnLocalLog."""
    return {
        topic_partition: _delete_on_leader(host, topic_partition, offset) for topic_partition, offset in offsets.items()
    }


def _delete_on_leader(host: PartitionsHost, topic_partition: TopicPartition, offset: int) -> DeleteResult:
    partition = host.get_partition(topic_partition)
    if isinstance(partition, ErrorCode):
        return DeleteResult(error_code=partition)
    if not partition.is_leader:
        return DeleteResult(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    log = partition.log
    if not log.config.delete and (log.config.compact or not host.config.behaviour.records_go_without_a_policy):
        return DeleteResult(error_code=ErrorCode.POLICY_VIOLATION)
    requested = log.high_watermark if offset == HIGH_WATERMARK else offset
    if requested < 0:
        return DeleteResult(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    try:
        moved = requested > log.log_start_offset and log.maybe_increment_log_start_offset(requested)
    except OffsetOutOfRange:
        return DeleteResult(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    if moved:
        partition.log_start_moved()
    return DeleteResult(requested_offset=requested, low_watermark=partition.low_watermark)


class DelayedDeleteRecords:
    """The results of one DeleteRecords; every partition that it waits for watches it."""

    __slots__ = ("_host", "_waiting", "completed", "deferred", "results")

    def __init__(self, host: PartitionsHost, results: DeleteResults) -> None:
        self._host = host
        self.results = results
        self.completed = False
        self.deferred: Deferred[DeleteResults] = Deferred()
        self._waiting: dict[TopicPartition, Partition] = {}
        for topic_partition, result in results.items():
            partition = host.get_partition(topic_partition)
            if not isinstance(partition, ErrorCode) and not result.error_code:
                self._waiting[topic_partition] = partition
                partition.delayed_deletes[self] = None

    @property
    def waiting_count(self) -> int:
        """The number of partitions that it waits for."""
        return len(self._waiting)

    def try_complete(self) -> bool:
        """Apply cases B and C to every partition that waits; return True when none is left."""
        if self.completed:
            return True
        for topic_partition in list(self._waiting):
            result = self.results[topic_partition]
            partition = self._host.get_partition(topic_partition)
            if isinstance(partition, ErrorCode):
                self._end(topic_partition, partition, INVALID_LOW_WATERMARK)
            elif not partition.is_leader:
                self._end(topic_partition, ErrorCode.NOT_LEADER_OR_FOLLOWER, INVALID_LOW_WATERMARK)
            elif partition.low_watermark >= result.requested_offset:
                self._end(topic_partition, ErrorCode.NONE, partition.low_watermark)
        if not self._waiting:
            self._complete()
        return self.completed

    def expire(self) -> None:
        """Apply case D to every partition that still waits."""
        for topic_partition in list(self._waiting):
            self._end(topic_partition, ErrorCode.REQUEST_TIMED_OUT, self.results[topic_partition].low_watermark)
        self._complete()

    def _end(self, topic_partition: TopicPartition, error_code: ErrorCode, low_watermark: int) -> None:
        self._waiting.pop(topic_partition).delayed_deletes.pop(self, None)
        result = self.results[topic_partition]
        result.error_code = error_code
        result.low_watermark = low_watermark

    def _complete(self) -> None:
        self.completed = True
        self.deferred.callback(self.results)
