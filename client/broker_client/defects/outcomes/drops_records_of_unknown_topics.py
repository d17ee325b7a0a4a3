"""Records of a topic that the brokers do not know at the moment disappear without a delivery report.

The client has lost its brokers, or a broker that starts up returns UNKNOWN_TOPIC_OR_PARTITION, and the client drops
its partitions of the topic together with their queues. Records before and behind the gap are stored and reported. The
application waits for ever for the others: a flush that counts outcomes does not end. A correct client fails such
records or keeps them until delivery.timeout.ms.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect
from broker_client.defects.queued_batches import take_queued
from protocol_specs.error_codes import ErrorCode


class DroppingSender(Sender):
    """Drops what is queued for a topic that the newest metadata do not know."""

    def run_once(self, now_ms: int) -> int:
        """Drop first."""
        for topic in self.metadata.topics:
            if self.metadata.topic_error(topic) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                for batch in take_queued(self.accumulator, topic):
                    self.accumulator.deallocate(batch)
        return super().run_once(now_ms)


DEFECT: Final = Defect(
    name="drops-records-of-unknown-topics",
    lesson=__doc__,
    source="librdkafka#1985; KAFKA-1702",
    affected="librdkafka before 0.11.6",
    anomalies=("silent-local-drop",),
    parts={"sender": DroppingSender},
)
