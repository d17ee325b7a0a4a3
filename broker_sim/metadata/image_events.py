"""Journal events of a committed change: topics, leaders, ISRs. Mirrors the controller's state-change log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import IsrChanged, LeaderElected, MetadataCommitted, TopicCreated, TopicDeleted
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from broker_sim.control.journal import Journal
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage
    from broker_sim.metadata.metadata_log import MetadataBatch


def note_batch(journal: Journal, batch: MetadataBatch) -> None:
    """Report which records of the metadata log are committed."""
    counts: dict[str, int] = {}
    for record in batch.logged():
        name = type(record.message).__name__
        counts[name] = counts.get(name, 0) + 1
    journal.append(
        MetadataCommitted(
            time_us=journal.now_us(),
            broker_id=-1,
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            leader_epoch=batch.leader_epoch,
            records=", ".join(f"{name} {count}" for name, count in counts.items()),
        )
    )


def note_changes(journal: Journal, old: MetadataImage, new: MetadataImage, unclean: frozenset[TopicPartition]) -> None:
    """Report every topic, leader and ISR that differs; a new topic's first leaders count as elected."""
    for name, topic in old.topics.items():
        replacement = new.topics.get(name)
        if replacement is None or replacement.topic_id != topic.topic_id:
            journal.append(TopicDeleted(time_us=journal.now_us(), broker_id=-1, topic=name, topic_id=topic.topic_id))
    for name, topic in new.topics.items():
        known = old.topics.get(name)
        if known is topic:
            continue
        if known is None or known.topic_id != topic.topic_id:
            known = None
            journal.append(
                TopicCreated(
                    time_us=journal.now_us(),
                    broker_id=-1,
                    topic=name,
                    topic_id=topic.topic_id,
                    partitions=len(topic.partitions),
                )
            )
        _note_partitions(journal, known, topic, unclean)


def _note_partitions(
    journal: Journal, old: TopicImage | None, new: TopicImage, unclean: frozenset[TopicPartition]
) -> None:
    for index, registration in enumerate(new.partitions):
        known: PartitionRegistration | None = None
        if old is not None and index < len(old.partitions):
            known = old.partitions[index]
        if known is registration:
            continue
        if known is None or known.leader_epoch != registration.leader_epoch:
            journal.append(
                LeaderElected(
                    time_us=journal.now_us(),
                    broker_id=registration.leader,
                    topic=new.name,
                    partition=index,
                    previous_leader=-1 if known is None else known.leader,
                    leader_epoch=registration.leader_epoch,
                    isr=registration.isr,
                    unclean=TopicPartition(new.name, index) in unclean,
                )
            )
        if known is not None and known.isr != registration.isr:
            journal.append(
                IsrChanged(
                    time_us=journal.now_us(),
                    broker_id=registration.leader,
                    topic=new.name,
                    partition=index,
                    isr=registration.isr,
                    previous_isr=known.isr,
                    leader_epoch=registration.leader_epoch,
                    partition_epoch=registration.partition_epoch,
                )
            )
