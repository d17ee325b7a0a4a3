"""Each new topic of a producer requests the metadata of all of its topics again.

A producer that writes to many topics sends a Metadata request per topic, and each lists every topic so far: the bytes
grow with the square of their number, and a fleet of such producers keeps the brokers busy after a restart. A correct
client requests new topics alone (KIP-526).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.metadata import Metadata
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.metadata import PendingUpdate


class WholeMetadata(Metadata):
    """Has full updates only."""

    def new_update(self, now_ms: int) -> PendingUpdate:
        """Return a full update."""
        with self._lock:
            self._needs_full_update = True
        return super().new_update(now_ms)


DEFECT: Final = Defect(
    name="requests-metadata-of-all-topics",
    lesson=__doc__,
    source="KIP-526; KAFKA-8904",
    affected="Java before 2.5.0 and 2.6.0",
    anomalies=("all-topics-metadata-herd",),
    parts={"metadata": WholeMetadata},
)
