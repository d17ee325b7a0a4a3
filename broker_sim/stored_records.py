"""The records that a partition's leader has stored, decoded, with the producer that wrote each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.errors import BrokerSimError, nearest
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from broker_sim.cluster import Cluster
    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["StoredRecord", "stored_records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """One record in a log. `sequence` and the producer's id and epoch are -1 for a producer without idempotence."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence: int


def stored_records(cluster: Cluster, topic: str, partition: int | None = None) -> list[StoredRecord]:
    """Return the records of a topic's leaders, by partition and offset, of one partition or of all.

    Raises:
        BrokerSimError: there is no such topic or partition, or it has no leader now.
        CompressionUnavailable: the records are compressed and the package for their codec is not installed.
    """
    counts = cluster.partition_counts
    if topic not in counts:
        raise BrokerSimError(f"there is no topic {topic!r}{nearest(topic, counts)}")
    records: list[StoredRecord] = []
    for index in range(counts[topic]) if partition is None else (partition,):
        leader = cluster.leader_of(topic, index)
        log = None if leader is None else cluster.log_of(leader, topic, index)
        if log is None:
            raise BrokerSimError(f"{topic}-{index} has no leader: its records are on no broker that serves")
        for batch in log.batches():
            if not batch.is_control:
                # The first batch can have records that are deleted: they are below the log start offset.
                records.extend(each for each in _records_of(batch, index) if each.offset >= log.log_start_offset)
    return records


def _records_of(batch: StoredBatch, partition: int) -> list[StoredRecord]:
    sequence = batch.base_sequence
    return [
        StoredRecord(
            partition=partition,
            offset=record.offset,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
            leader_epoch=batch.leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            sequence=-1 if sequence < 0 else sequence + record.offset - batch.base_offset,
        )
        for record in read_any(batch.data)
    ]
