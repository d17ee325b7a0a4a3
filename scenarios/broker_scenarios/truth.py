"""The truth of a run: what the brokers' logs hold at its end, and what replicas have cut off, as Arrow tables.

Stored rows are those of each partition's leader, up to its high watermark: what a consumer could read. Truncated rows
come from the journal's LogTruncated and TailLost events, whose batches are kept by reference until somebody asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from broker_scenarios.history import STORED_SCHEMA, TRUNCATED_SCHEMA
from broker_scenarios.workloads.values import value_id_of
from broker_sim.control.events import LogTruncated, TailLost
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.cluster import Cluster, TopicSpec
    from broker_sim.control.journal import Journal, Row
    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["Truth", "read_truth"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the checks join a history with; `doubts` say why it may not be whole."""

    stored: pa.Table
    truncated: pa.Table
    journal_rows: list[Row]
    doubts: tuple[str, ...] = ()


@dataclass(slots=True)
class _Columns:
    """Rows by column, as Arrow wants them."""

    schema: pa.Schema
    values: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = {name: [] for name in self.schema.names}

    def extend(self, count: int, **columns: object) -> None:
        """Add `count` rows; a value that is no list stands in each of them."""
        for name, value in columns.items():
            self.values[name].extend(value if isinstance(value, list) else [value] * count)

    def table(self) -> pa.Table:
        """All rows."""
        return pa.table(self.values, schema=self.schema)


_JOURNAL_DROPPED: Final = "the journal has dropped {0} events: its limit_events is {1}"


def read_truth(cluster: Cluster, topics: Iterable[TopicSpec]) -> Truth:
    """Read every partition of the topics from its leader's log. Call it on the reactor's thread, after the run."""
    doubts: list[str] = []
    stored = _Columns(STORED_SCHEMA)
    for topic in topics:
        for partition in range(topic.partitions):
            leader = cluster.leader_of(topic.name, partition)
            if leader is None:
                doubts.append(f"{topic.name}-{partition} has no leader at the end")
                continue
            log = cluster.log_of(leader, topic.name, partition)
            if log is None:
                doubts.append(f"{topic.name}-{partition} is not at its leader {leader} yet")
                continue
            if log.high_watermark < log.log_end_offset:
                behind = log.log_end_offset - log.high_watermark
                doubts.append(f"{topic.name}-{partition}: {behind} records above the high watermark at the end")
            if log.log_start_offset > 0:
                doubts.append(f"{topic.name}-{partition} begins at {log.log_start_offset}: what was before is deleted")
            if log.first_dirty_offset is not None:
                doubts.append(f"{topic.name}-{partition} is compacted up to {log.first_dirty_offset}")
            data = [batch for batch in log.batches() if not batch.is_control]
            _add_stored(stored, topic.name, partition, leader, data)
    if cluster.journal.dropped:
        doubts.append(_JOURNAL_DROPPED.format(cluster.journal.dropped, cluster.journal.limit_events))
    return Truth(
        stored=stored.table(),
        truncated=_truncated(cluster.journal),
        journal_rows=cluster.journal.to_rows(),
        doubts=tuple(doubts),
    )


def _add_stored(columns: _Columns, topic: str, partition: int, leader: int, batches: Sequence[StoredBatch]) -> None:
    for batch in batches:
        records = read_any(batch.data)
        columns.extend(
            len(records),
            topic=topic,
            partition=partition,
            offset=[record.offset for record in records],
            value_id=[value_id_of(record.value) for record in records],
            leader_epoch=batch.leader_epoch,
            broker=leader,
            batch_base_offset=batch.base_offset,
        )


def _truncated(journal: Journal) -> pa.Table:
    columns = _Columns(TRUNCATED_SCHEMA)
    for event in [*journal.events_of(LogTruncated), *journal.events_of(TailLost)]:
        assert isinstance(event, LogTruncated | TailLost)
        for batch in event.batches:
            records = read_any(batch.data)
            gone = [record for record in records if event.from_offset <= record.offset < event.to_offset]
            columns.extend(
                len(gone),
                topic=event.topic,
                partition=event.partition,
                offset=[record.offset for record in gone],
                value_id=[value_id_of(record.value) for record in gone],
                broker=event.broker_id,
                leader_epoch=batch.leader_epoch if isinstance(event, TailLost) else event.leader_epoch,
                time_us=event.time_us,
            )
    return columns.table()
