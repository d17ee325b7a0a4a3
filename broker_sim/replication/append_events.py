"""Journal events of appends: the stored batches, and the results of Produce requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.control.events import BatchAppended, BatchDeduplicated, ProduceCompleted
from broker_sim.log.append_results import UNKNOWN_OFFSET

if TYPE_CHECKING:
    from broker_sim.control.journal import Journal
    from broker_sim.log.append_results import PartitionAppend
    from broker_sim.replication.partition import Partition
    from broker_sim.topic_partition import TopicPartition


class AppendHost(Protocol):
    """The part of a ReplicaManager that these events name."""

    broker_id: int
    journal: Journal
    partitions: dict[TopicPartition, Partition]


def note_append(host: AppendHost, result: PartitionAppend, size: int, request_id: int) -> None:
    """Record the batches of an append, or the duplicate that it was."""
    topic, index = result.topic_partition
    journal = host.journal
    if result.duplicate:
        journal.append(
            BatchDeduplicated(
                time_us=journal.now_us(),
                broker_id=host.broker_id,
                topic=topic,
                partition=index,
                base_offset=result.base_offset,
                last_offset=result.last_offset,
                size=size,
                request_id=request_id,
            )
        )
        return
    for batch in result.batches:
        journal.append(
            BatchAppended(
                time_us=journal.now_us(),
                broker_id=host.broker_id,
                topic=topic,
                partition=index,
                base_offset=batch.base_offset,
                last_offset=batch.last_offset,
                leader_epoch=batch.leader_epoch,
                records=batch.records_count,
                size=batch.size,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=batch.base_sequence,
                request_id=request_id,
            )
        )


def note_completion(host: AppendHost, result: PartitionAppend, acks: int, request_id: int) -> None:
    """Record the result that a Produce gets for a partition."""
    partition = host.partitions.get(result.topic_partition)
    host.journal.append(
        ProduceCompleted(
            time_us=host.journal.now_us(),
            broker_id=host.broker_id,
            topic=result.topic_partition.topic,
            partition=result.topic_partition.partition,
            error_code=int(result.error_code),
            base_offset=result.base_offset,
            required_offset=result.last_offset + 1 if result.last_offset >= 0 else UNKNOWN_OFFSET,
            high_watermark=UNKNOWN_OFFSET if partition is None else partition.log.high_watermark,
            leader_epoch=-1 if partition is None else partition.leader_epoch,
            isr=() if partition is None else partition.isr,
            acks=acks,
            request_id=request_id,
        )
    )
