"""One UNKNOWN_TOPIC_OR_PARTITION for a topic in use fails its buffered records at once.

A broker that restarts, or that has not applied a new topic yet, does not know the topic for some seconds. Records
that would be stored a moment later fail for good. A correct client takes the error for stale metadata: it sends the
request again with a back-off, and records wait until delivery.timeout.ms.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect
from broker_client.defects.queued_batches import fail_queued
from broker_client.errors import BrokerError
from protocol_specs.error_codes import ErrorCode


class ImpatientSender(Sender):
    """Fails what is queued for a topic that the newest metadata do not know."""

    def run_once(self, now_ms: int) -> int:
        """Fail first."""
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for topic in self.metadata.topics:
            if self.metadata.topic_error(topic) is code:
                fail_queued(self.accumulator, BrokerError(code, f"Metadata of {topic}"), topic)
        return super().run_once(now_ms)


DEFECT: Final = Defect(
    name="unknown-topic-is-final",
    lesson=__doc__,
    source="librdkafka, changelogs of 1.9.0 and 2.10.0",
    affected="librdkafka before 1.9.0",
    anomalies=("topic-vanishes-temporarily",),
    parts={"sender": ImpatientSender},
)
