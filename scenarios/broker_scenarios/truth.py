"""The truth of a run: the records in the brokers' logs at its end, and the records that replicas have cut off.

Stored records are those in the log of each partition's leader. Records above its high watermark, which no consumer
could read yet, are a caveat.
Truncated records come from the journal's LogTruncated and TailLost events, which hold their batches by reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.checks.per_partition.diverging_replicas import diverging_replicas
from broker_scenarios.history import LogRecord, TruncatedRecord, join_logs
from broker_scenarios.workloads.record_ids import record_id_of
from broker_sim.control.events import LogTruncated, TailLost
from broker_sim.quotas.quota_managers import Throttles
from protocol_specs.errors import InvalidRecord, RecordBatchError
from protocol_specs.records.control_records import ControlRecordType, control_record_type
from protocol_specs.records.record_set import check_any, read_any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from broker_scenarios.arrow.truth_files import TruthFiles
    from broker_scenarios.findings import Finding
    from broker_scenarios.operations import Value
    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event, RemovedBatch
    from broker_sim.control.journal import Journal
    from broker_sim.log.replica_log import ReplicaLog, StoredBatch
    from protocol_specs.records.record_reader import Record

__all__ = ["JOURNAL_DROPPED", "Truth", "UncommittedRecord", "read_truth"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The log records that the checks join a history with; `caveats` name what makes them incomplete."""

    stored: list[LogRecord]
    """The records that a consumer with read_committed can read."""
    truncated: list[TruncatedRecord]
    journal: Sequence[Event]
    caveats: tuple[str, ...] = ()
    uncommitted: list[UncommittedRecord] = field(default_factory=list)
    """The records of aborted and open transactions."""
    log_starts: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """The first offset that retention has left, of each partition whose log was read."""
    divergences: list[Finding] = field(default_factory=list)
    """The replicas whose records are not those of their leader."""
    throttles: Mapping[str, Throttles] = field(default_factory=dict)
    """The requests that exceeded a quota, by client.id."""
    logs: Path | None = None
    """A folder of Parquet files with the stored and the truncated records; `stored` is empty then."""


class UncommittedRecord(NamedTuple):
    """A record of an `aborted` transaction, or of one that is still `open`."""

    topic: str
    partition: int
    offset: int
    value_id: Value
    state: str


_INTERNAL: Final = "__"
JOURNAL_DROPPED: Final = "the journal has dropped {0} events: its limit_events is {1}"


def _id_of(record: Record) -> Value:
    """The id of a record of a load."""
    return record_id_of(record.value, record.headers)


def read_truth(
    cluster: Cluster,
    topics: Collection[str] | None = None,
    value_of: Callable[[Record], Value] = _id_of,
    files: TruthFiles | None = None,
) -> Truth:
    """Read every partition of the clients' topics from its leader's log; on the reactor's thread, after the run.

    `topics` limits the logs to some of them; `value_of` names a record, for records that no load has made. `files` gets
    the records of a load, so that they need no memory here.
    """
    caveats: list[str] = []
    stored: list[LogRecord] = []
    uncommitted: list[UncommittedRecord] = []
    log_starts: dict[tuple[str, int], int] = {}
    divergences: list[Finding] = []
    for topic, partitions in cluster.partition_counts.items():
        if topic.startswith(_INTERNAL) or (topics is not None and topic not in topics):
            continue
        for partition in range(partitions):
            name = f"{topic}-{partition}"
            leader = cluster.leader_of(topic, partition)
            if leader is None:
                caveats.append(f"{name} has no leader at the end")
                continue
            log = cluster.log_of(leader, topic, partition)
            if log is None:
                caveats.append(f"{name} is not at its leader {leader} yet")
                continue
            if log.high_watermark < log.log_end_offset:
                behind = log.log_end_offset - log.high_watermark
                caveats.append(f"{name}: {behind} records above the high watermark at the end")
            log_starts[topic, partition] = log.log_start_offset
            divergences += diverging_replicas(cluster, leader, log)
            if files is not None and files.add_log(log, topic, partition):
                continue
            committed, others = _read(log, topic, partition, value_of, caveats)
            uncommitted += others
            if files is None:
                stored += committed
            else:
                files.add_records(committed)
    if cluster.journal.dropped:
        caveats.append(JOURNAL_DROPPED.format(cluster.journal.dropped, cluster.journal.limit_events))
    truncated = _truncated(cluster.journal, topics, value_of, caveats)
    if files is not None:
        files.add_records(join_logs((), truncated))
    return Truth(
        stored=stored,
        uncommitted=uncommitted,
        log_starts=log_starts,
        divergences=divergences,
        truncated=truncated,
        journal=cluster.journal.events,
        caveats=tuple(caveats),
        throttles=_throttles(cluster),
        logs=None if files is None else files.folder,
    )


def _throttles(cluster: Cluster) -> dict[str, Throttles]:
    """The requests that exceeded a quota, of all brokers together."""
    found: dict[str, Throttles] = {}
    for broker in cluster.brokers.values():
        for client, throttles in broker.throttles.items():
            together = found.setdefault(client, Throttles())
            together.requests += throttles.requests
            together.total_ms += throttles.total_ms
    return found


def _read(
    log: ReplicaLog, topic: str, partition: int, value_of: Callable[[Record], Value], caveats: list[str]
) -> tuple[list[LogRecord], list[UncommittedRecord]]:
    """The records of a log: those of no transaction or a committed one, and the others."""
    committed: list[LogRecord] = []
    others: list[UncommittedRecord] = []
    open_transactions: dict[int, list[LogRecord]] = {}
    for batch in log.batches():
        found = _records_of(batch, topic, partition, caveats)
        if batch.is_control:
            records = open_transactions.pop(batch.producer_id, [])
            if any(_is_commit(record) for record in found):
                committed += records
            else:
                others += (UncommittedRecord(*record[:4], state="aborted") for record in records)
            continue
        target = open_transactions.setdefault(batch.producer_id, []) if batch.is_transactional else committed
        target += (LogRecord(topic, partition, record.offset, value_of(record)) for record in found)
    for records in open_transactions.values():
        others += (UncommittedRecord(*record[:4], state="open") for record in records)
    committed.sort(key=lambda record: record.offset)
    return committed, others


def _records_of(batch: StoredBatch | RemovedBatch, topic: str, partition: int, caveats: list[str]) -> Sequence[Record]:
    """The records of a batch. None of one that a disk has damaged: no consumer can read it, which is a caveat."""
    try:
        check_any(batch.data)
        return read_any(batch.data)
    except RecordBatchError as error:
        caveats.append(f"{topic}-{partition}: the batch at offset {batch.base_offset} is damaged: {error}")
        return ()


def _is_commit(record: Record) -> bool:
    try:
        return control_record_type(record) is ControlRecordType.COMMIT
    except InvalidRecord:
        return False  # a disk has damaged its key


def _truncated(
    journal: Journal, topics: Collection[str] | None, value_of: Callable[[Record], Value], caveats: list[str]
) -> list[TruncatedRecord]:
    cut: list[TruncatedRecord] = []
    for event in [*journal.events_of(LogTruncated), *journal.events_of(TailLost)]:
        assert isinstance(event, LogTruncated | TailLost)
        if topics is not None and event.topic not in topics:
            continue
        for batch in event.batches:
            epoch = batch.leader_epoch if isinstance(event, TailLost) else event.leader_epoch
            cut += (
                TruncatedRecord(
                    topic=event.topic,
                    partition=event.partition,
                    offset=record.offset,
                    value_id=value_of(record),
                    broker=event.broker_id,
                    leader_epoch=epoch,
                    time_us=event.time_us,
                )
                for record in _records_of(batch, event.topic, event.partition, caveats)
                if event.from_offset <= record.offset < event.to_offset
            )
    return cut
