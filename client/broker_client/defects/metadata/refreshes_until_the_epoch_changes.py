"""After a leader's error the client requests metadata for ever, though nothing is stale any more.

A request for an update counts as served when a newer leader epoch arrives. If the leader only refused for a moment,
or a connection was closed, no epoch changes: the client repeats the request at a fixed interval until it ends. A
correct client is content with any later response, and backs off exponentially until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.metadata import Metadata
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.metadata import PendingUpdate
    from broker_client.records import TopicPartition
    from protocol_specs.messages.metadata import MetadataResponse


class RestlessMetadata(Metadata):
    """Requests again until an epoch is newer than at the request."""

    _epochs_before: dict[TopicPartition, int] | None = None

    def request_update(self) -> int:
        """Remember the epochs."""
        with self._lock:
            if self._epochs_before is None and self._last_seen_epochs:
                self._epochs_before = dict(self._last_seen_epochs)
        return super().request_update()

    def update(self, response: MetadataResponse, *, version: int, pending: PendingUpdate, now_ms: int) -> None:
        """Apply the response, and request the next unless an epoch is newer."""
        super().update(response, version=version, pending=pending, now_ms=now_ms)
        before = self._epochs_before
        with self._lock:
            if before is None or any(epoch > before.get(key, -1) for key, epoch in self._last_seen_epochs.items()):
                self._epochs_before = None
                return
            self._needs_full_update = True
            self._equivalent_responses = 0
            self._draw_backoff()


DEFECT: Final = Defect(
    name="refreshes-until-the-epoch-changes",
    lesson=__doc__,
    source="librdkafka#4577; aiokafka#496",
    affected="librdkafka before 2.4.0, aiokafka before 0.6.0",
    anomalies=("metadata-refresh-loop",),
    parts={"metadata": RestlessMetadata},
)
