"""The journal's event of a truncated replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import LogTruncated

if TYPE_CHECKING:
    from broker_sim.control.journal import Journal
    from broker_sim.log.replica_log import TruncationInfo
    from broker_sim.replication.partition import Partition

__all__ = ["note_truncation"]


def note_truncation(
    journal: Journal, broker_id: int, partition: Partition, done: TruncationInfo, *, high_watermark: int, reason: str
) -> None:
    """Record a truncation that has removed batches; `high_watermark` is the one before it."""
    if not done.truncated:
        return
    journal.append(
        LogTruncated(
            time_us=journal.now_us(),
            broker_id=broker_id,
            topic=partition.topic_partition.topic,
            partition=partition.topic_partition.partition,
            from_offset=done.new_log_end_offset,
            to_offset=done.old_log_end_offset,
            leader_epoch=partition.leader_epoch,
            leader_id=partition.leader_id,
            records=sum(batch.records_count for batch in done.removed),
            high_watermark=high_watermark,
            reason=reason,
            batches=tuple(done.removed),
        )
    )
