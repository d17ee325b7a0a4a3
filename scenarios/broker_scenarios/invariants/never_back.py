"""high-watermark-never-back and log-start-never-back: on one leader, in one leader epoch, neither decreases.

A new leader may begin with a lower high watermark than its predecessor had: followers receive it with their next fetch.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant, PartitionKey
from broker_sim.control.events import BatchAppended, HighWatermarkAdvanced, ProduceCompleted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event
    from broker_sim.log.replica_log import ReplicaLog

__all__ = ["HighWatermarkNeverBack", "LogStartNeverBack"]

_Leadership: TypeAlias = tuple[PartitionKey, int, bytes, int]


class _NeverBack(Invariant):
    """Compares an offset of a leader's log with the one at the event before."""

    events = (BatchAppended, HighWatermarkAdvanced, ProduceCompleted)
    what: ClassVar[str]

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._last: dict[_Leadership, int] = {}

    @abstractmethod
    def offset_of(self, log: ReplicaLog) -> int:
        """Return the offset of the log."""

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the offset that is lower than before."""
        assert isinstance(event, self.events), "these are the kinds"
        partition = self.cluster.led(event)
        if partition is None:
            return
        broker_id = event.broker_id
        key = (partition.topic_id, event.partition)
        leadership = (key, broker_id, self.cluster.incarnation(broker_id), partition.leader_epoch)
        offset = self.offset_of(partition.log)
        before = self._last.get(leadership, offset)
        self._last[leadership] = max(offset, before)
        if offset < before:
            yield Broken(
                subject=leadership,
                detail=f"the {self.what} of its leader, broker {broker_id}, is {offset} after {before}",
                topic=event.topic,
                partition=event.partition,
                offset=offset,
            )


class HighWatermarkNeverBack(_NeverBack):
    """The high watermark."""

    kind = FindingKind.HIGH_WATERMARK_NEVER_BACK
    claim = "the high watermark of a leader never decreases in its leader epoch"
    what = "high watermark"

    def offset_of(self, log: ReplicaLog) -> int:
        """Return the high watermark."""
        return log.high_watermark


class LogStartNeverBack(_NeverBack):
    """The log start offset."""

    kind = FindingKind.LOG_START_NEVER_BACK
    claim = "the log start offset of a leader never decreases in its leader epoch"
    what = "log start offset"

    def offset_of(self, log: ReplicaLog) -> int:
        """Return the log start offset."""
        return log.log_start_offset
