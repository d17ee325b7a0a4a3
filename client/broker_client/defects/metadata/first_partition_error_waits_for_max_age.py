"""A partition without a leader in the first metadata of its topic is not looked up again before metadata.max.age.ms.

The topic was created a moment ago, so the first response has LEADER_NOT_AVAILABLE for a partition, and the second
would have its leader. The client refreshes only for topics that it has loaded before: records of the partition wait
five minutes. A correct client requests an update as long as a partition has a retriable error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.network.metadata import Metadata
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_client.core.network.cluster import TopicMetadata
    from broker_client.core.network.metadata import PendingUpdate
    from protocol_specs.messages.metadata import MetadataResponse, MetadataResponseTopic


class StallingMetadata(Metadata):
    """Requests no update after the first load of a topic with a partition in error."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._is_stalled = False

    def request_update(self) -> int:
        """Ignore the request after such a load."""
        return self.update_version if self._is_stalled else super().request_update()

    def update(self, response: MetadataResponse, *, version: int, pending: PendingUpdate, now_ms: int) -> None:
        """A later response ends it."""
        self._is_stalled = False
        super().update(response, version=version, pending=pending, now_ms=now_ms)

    def _topic_of(self, topic: MetadataResponseTopic, version: int) -> TopicMetadata:
        needs_update = self._needs_full_update
        is_first = topic.name not in self.cluster.topics
        made = super()._topic_of(topic, version)
        if is_first and any(ErrorCode(one.error_code) is not ErrorCode.NONE for one in topic.partitions):
            self._needs_full_update = needs_update
            self._is_stalled = True
        return made


DEFECT: Final = Defect(
    name="first-partition-error-waits-for-max-age",
    lesson=__doc__,
    source="franz-go, changelog of 1.20.7",
    affected="franz-go before 1.20.7",
    anomalies=("first-load-partition-error-stall",),
    parts={"metadata": StallingMetadata},
)
