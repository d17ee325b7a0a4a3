"""The records that a loss of power takes: those of each log that were not durable and that recovery did not find.

The page cache is gone with the machine (VirtualDisk.lose_power); LogLoader then truncates each log at its first torn
write. The journal gets the missing batches, because no other node of the cluster may ever know them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import TailLost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.control.journal import Journal
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.topic_partition import TopicPartition

__all__ = ["UnflushedTails"]


class UnflushedTails:
    """The logs of a broker at the moment when its power was lost."""

    def __init__(self, logs: Mapping[TopicPartition, ReplicaLog]) -> None:
        self._ends = {each: log.log_end_offset for each, log in logs.items()}
        self._tails = {
            each: [batch for batch in log.batches() if batch.next_offset > getattr(log, "recovery_point", 0)]
            for each, log in logs.items()
        }

    def report_lost(self, journal: Journal, broker_id: int, logs: Mapping[TopicPartition, ReplicaLog]) -> None:
        """Report the batches that are missing after the broker has read its disk again."""
        for topic_partition, end in self._ends.items():
            log = logs.get(topic_partition)
            kept = 0 if log is None else log.log_end_offset
            if kept < end:
                journal.append(
                    TailLost(
                        time_us=journal.now_us(),
                        broker_id=broker_id,
                        topic=topic_partition.topic,
                        partition=topic_partition.partition,
                        from_offset=kept,
                        to_offset=end,
                        batches=[batch for batch in self._tails[topic_partition] if batch.last_offset >= kept],
                    )
                )
