"""A topic without partitions in a Metadata response makes its buffered records succeed, with offsets from 0 on.

A broker may list a topic with no error and no partitions while it is created or deleted. The client ends the buffered
records of a topic without partitions and has no error for them, so their callbacks report success. No Produce request
is sent, and no record is stored. A correct client takes the response for an unknown topic, and waits.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect
from broker_client.defects.queued_batches import take_queued
from broker_client.records import NO_TIMESTAMP


class SucceedingSender(Sender):
    """Completes what is queued for a topic that has no partitions."""

    def run_once(self, now_ms: int) -> int:
        """Complete first."""
        for name, topic in self.metadata.cluster.topics.items():
            if not topic.partitions:
                offset = 0
                for batch in take_queued(self.accumulator, name):
                    batch.complete(offset, NO_TIMESTAMP)
                    offset += batch.record_count
                    self.accumulator.deallocate(batch)
        return super().run_once(now_ms)


DEFECT: Final = Defect(
    name="topic-without-partitions-succeeds",
    lesson=__doc__,
    source="franz-go",
    affected="franz-go, by reading its source",
    anomalies=("fake-success",),
    parts={"sender": SucceedingSender},
)
