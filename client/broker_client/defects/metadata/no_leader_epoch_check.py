"""The client believes a broker that names an older leader, and goes back to it.

After a move of the leader some brokers have not applied it yet. Metadata responses alternate between the new leader
and the old one, and the client follows each of them: it sends to a broker that refuses, refreshes, and returns. A
correct client ignores a leader epoch below the highest it has seen, except for a topic with a new id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.metadata import Metadata
from broker_client.defects.defect import Defect
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from broker_client.records import PartitionInfo
    from protocol_specs.messages.metadata import MetadataResponsePartition


class CredulousMetadata(Metadata):
    """Takes every leader as it comes."""

    def _newest_of(
        self, topic: str, partition: MetadataResponsePartition, version: int, *, recreated: bool
    ) -> PartitionInfo | None:
        """Forget the epoch first."""
        self._last_seen_epochs.pop(TopicPartition(topic, partition.partition_index), None)
        return super()._newest_of(topic, partition, version, recreated=recreated)


DEFECT: Final = Defect(
    name="no-leader-epoch-check",
    lesson=__doc__,
    source="librdkafka#4680; franz-go#1331",
    affected="librdkafka before 2.4.0",
    anomalies=("leader-epoch-regression",),
    parts={"metadata": CredulousMetadata},
)
