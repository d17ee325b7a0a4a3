"""The truth of a run: the records in the brokers' logs at its end, and the records that replicas have cut off.

Stored records are those of each partition's leader, up to its high watermark: those that a consumer could read.
Truncated records come from the journal's LogTruncated and TailLost events, which hold their batches by reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_scenarios.history import LogRecord, TruncatedRecord
from broker_scenarios.workloads.values import value_id_of
from broker_sim.control.events import LogTruncated, TailLost
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.cluster import Cluster, TopicSpec
    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal

__all__ = ["Truth", "read_truth"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The log records that the checks join a history with; `caveats` name what makes them incomplete."""

    stored: list[LogRecord]
    truncated: list[TruncatedRecord]
    journal: Sequence[Event]
    caveats: tuple[str, ...] = ()


_JOURNAL_DROPPED: Final = "the journal has dropped {0} events: its limit_events is {1}"


def read_truth(cluster: Cluster, topics: Iterable[TopicSpec]) -> Truth:
    """Read every partition of the topics from its leader's log. Call it on the reactor's thread, after the run."""
    caveats: list[str] = []
    stored: list[LogRecord] = []
    for topic in topics:
        for partition in range(topic.partitions):
            leader = cluster.leader_of(topic.name, partition)
            if leader is None:
                caveats.append(f"{topic.name}-{partition} has no leader at the end")
                continue
            log = cluster.log_of(leader, topic.name, partition)
            if log is None:
                caveats.append(f"{topic.name}-{partition} is not at its leader {leader} yet")
                continue
            if log.high_watermark < log.log_end_offset:
                behind = log.log_end_offset - log.high_watermark
                caveats.append(f"{topic.name}-{partition}: {behind} records above the high watermark at the end")
            if log.log_start_offset > 0:
                caveats.append(f"{topic.name}-{partition} begins at {log.log_start_offset}: what was before is deleted")
            if log.first_dirty_offset is not None:
                caveats.append(f"{topic.name}-{partition} is compacted up to {log.first_dirty_offset}")
            stored += (
                LogRecord(topic.name, partition, record.offset, value_id_of(record.value))
                for batch in log.batches()
                if not batch.is_control
                for record in read_any(batch.data)
            )
    if cluster.journal.dropped:
        caveats.append(_JOURNAL_DROPPED.format(cluster.journal.dropped, cluster.journal.limit_events))
    return Truth(
        stored=stored,
        truncated=_truncated(cluster.journal),
        journal=cluster.journal.events,
        caveats=tuple(caveats),
    )


def _truncated(journal: Journal) -> list[TruncatedRecord]:
    cut: list[TruncatedRecord] = []
    for event in [*journal.events_of(LogTruncated), *journal.events_of(TailLost)]:
        assert isinstance(event, LogTruncated | TailLost)
        for batch in event.batches:
            epoch = batch.leader_epoch if isinstance(event, TailLost) else event.leader_epoch
            cut += (
                TruncatedRecord(
                    topic=event.topic,
                    partition=event.partition,
                    offset=record.offset,
                    value_id=value_id_of(record.value),
                    broker=event.broker_id,
                    leader_epoch=epoch,
                    time_us=event.time_us,
                )
                for record in read_any(batch.data)
                if event.from_offset <= record.offset < event.to_offset
            )
    return cut
