"""A Produce with acks=all that waits for its partitions' high watermarks. Mirrors DelayedProduce.

Each partition of the request ends by the first of:
  A. this broker no longer leads it: NOT_LEADER_OR_FOLLOWER (a deleted one: UNKNOWN_TOPIC_OR_PARTITION);
  B. the high watermark has reached the required offset: NONE, or NOT_ENOUGH_REPLICAS_AFTER_APPEND when the maximal
     ISR is below min.insync.replicas by then;
  C. the deadline: REQUEST_TIMED_OUT.
In every case the response carries the offsets of the local append. The operation completes with its last partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.log.append_results import PartitionAppend


class DelayedProduce:
    """The results of one Produce; `waiting` holds the index of each partition that has not ended."""

    __slots__ = ("_on_partition", "completed", "deferred", "results", "waiting")

    def __init__(
        self,
        results: list[PartitionAppend],
        waiting: list[int],
        on_partition: Callable[[PartitionAppend], None],
    ) -> None:
        self.results = results
        self.waiting = dict.fromkeys(waiting)
        self.deferred: Deferred[list[PartitionAppend]] = Deferred()
        self.completed = False
        self._on_partition = on_partition

    def partition_done(self, index: int, error_code: ErrorCode) -> None:
        """Apply case A or B to one partition."""
        del self.waiting[index]
        self._set_result(index, error_code)
        if not self.waiting:
            self._complete()

    def expire(self) -> None:
        """Apply case C to every partition that still waits."""
        for index in self.waiting:
            self._set_result(index, ErrorCode.REQUEST_TIMED_OUT)
        self.waiting.clear()
        self._complete()

    def _set_result(self, index: int, error_code: ErrorCode) -> None:
        result = self.results[index]
        result.error_code = error_code
        self._on_partition(result)

    def _complete(self) -> None:
        self.completed = True
        self.deferred.callback(self.results)
