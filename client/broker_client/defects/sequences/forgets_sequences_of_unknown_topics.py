"""A topic that is missing from one Metadata response begins at sequence 0 again, in the same epoch.

The client drops its state of the topic's partitions with the topic. When the topic is back, the next batch has
sequence 0, which the broker has seen: it takes the batch for a retry and returns success with the old offset. Two
values are acknowledged at one offset, and the second is stored nowhere. A correct client keeps the sequences of a
partition as long as its producer id and epoch, with any metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.cluster import Cluster


class ForgetfulSender(Sender):
    """Forgets the partitions of topics that the newest metadata lack."""

    _seen: Cluster | None = None

    def run_once(self, now_ms: int) -> int:
        """Look at new metadata first."""
        cluster = self.metadata.cluster
        if cluster is not self._seen and not cluster.is_bootstrap and self.transactions is not None:
            self._seen = cluster
            known = self.transactions._partitions  # noqa: SLF001 - the state that the bug destroys
            for key in [key for key in known if key.topic not in cluster.topics]:
                del known[key]
        return super().run_once(now_ms)


DEFECT: Final = Defect(
    name="forgets-sequences-of-unknown-topics",
    lesson=__doc__,
    source="librdkafka, changelog of 1.9.0",
    affected="librdkafka before 1.9.0",
    anomalies=("metadata-flap-sequence-reset-loss",),
    parts={"sender": ForgetfulSender},
)
