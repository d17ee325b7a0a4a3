"""replica-divergence: a replica holds other bytes than its leader below the high watermark.

Records below the high watermark are committed: every member of the ISR has the same batches there. A replica outside of
it is compared up to its own high watermark, which it has from a leader.
Batches that compaction has touched are not compared, for each replica compacts by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.cluster import Cluster
    from broker_sim.log.replica_log import ReplicaLog, StoredBatch

__all__ = ["diverging_replicas"]


def diverging_replicas(cluster: Cluster, leader: int, log: ReplicaLog) -> Iterator[Finding]:
    """Compare the log of a leader with those of the other replicas; one finding per replica, with its first offset."""
    topic, partition = log.topic, log.partition
    registration = cluster.registration_of(topic, partition)
    for broker_id in registration.replicas:
        other = cluster.log_of(broker_id, topic, partition)
        if broker_id == leader or other is None:
            continue
        known = log.high_watermark if broker_id in registration.isr else other.high_watermark
        offset = _first_difference(log, other, min(log.high_watermark, known))
        if offset is not None:
            yield Finding(
                kind=FindingKind.REPLICA_DIVERGENCE,
                topic=topic,
                partition=partition,
                value_id=-1,
                detail=f"broker {broker_id} holds other records than the leader, broker {leader}, from {offset} on",
                offset=offset,
            )


def _first_difference(log: ReplicaLog, other: ReplicaLog, end: int) -> int | None:
    """Return the first offset of the first batch below `end` that is not the same in both; None if there is none."""
    start = max(
        log.log_start_offset, other.log_start_offset, log.first_dirty_offset or 0, other.first_dirty_offset or 0
    )
    theirs = _between(other, start, end)
    for batch in _between(log, start, end):
        same = next(theirs, None)
        if same is None or (same is not batch and same.data != batch.data):
            return max(start, batch.base_offset if same is None else min(batch.base_offset, same.base_offset))
    extra = next(theirs, None)
    return None if extra is None else max(start, extra.base_offset)


def _between(log: ReplicaLog, start: int, end: int) -> Iterator[StoredBatch]:
    for batch in log.batches():
        if batch.base_offset >= end:
            return
        if batch.last_offset >= start:
            yield batch
