"""A leader sends consumers to a follower that does not have the records which they want any more.

With KIP-392 a leader names a replica in the consumer's rack. A follower can have deleted older records than the
leader, by its own clock or retention. The consumer's fetch there fails with OFFSET_OUT_OF_RANGE, it returns to the
leader, and is sent to the same follower again: it reads nothing, and sends requests at full speed. A leader that
compares the wanted offset with the log start of the follower serves the consumer itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.replication.replica_selector import NO_REPLICA, RackAwareReplicaSelector

if TYPE_CHECKING:
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.replication.partition import Partition

__all__ = ["DEFECT"]


class LogStartsAreIgnored(RackAwareReplicaSelector):
    """Selects a follower as if the consumer wanted the newest records."""

    def select(
        self, partition: Partition, *, rack_id: str, fetch_offset: int, image: MetadataImage, local_id: int
    ) -> int:
        """Consider all followers in the ISR that have the offset, or have had it."""
        ends = [
            follower.log_end_offset
            for follower in partition.followers.values()
            if follower.broker_id in partition.isr and fetch_offset <= follower.log_end_offset
        ]
        if not ends:
            return NO_REPLICA
        return super().select(partition, rack_id=rack_id, fetch_offset=max(ends), image=image, local_id=local_id)


DEFECT: Final = Defect(
    name="selector-ignores-log-start",
    lesson=__doc__,
    source="KIP-392; twmb/franz-go 1.18.1",
    affected="leaders that do not know the log start offsets of their followers",
    anomalies=("follower-fetch-spin",),
    substitutes=(LogStartsAreIgnored,),
    since="2.4",
    needs_config={"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"},
)
