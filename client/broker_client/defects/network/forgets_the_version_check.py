"""A connection that is lost before the broker has sent its API versions is made again, and never becomes ready.

The client notes that it has requested the versions of a node, and does not clear the note when the connection ends in
between. The next connection is open, no request is sent on it, and the node counts as not ready until the client is
restarted. A correct client requests the versions on every new connection.
"""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.core.network.version_negotiation import VersionNegotiation
from broker_client.defects.defect import Defect


class ForgetfulNegotiation(VersionNegotiation):
    """Requests the versions of a node no more once they stayed away."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._interrupted: set[int] = set()

    def connected(self, node_id: int) -> None:
        """Request nothing after an interrupted check."""
        if node_id not in self._interrupted:
            super().connected(node_id)

    def disconnected(self, node_id: int, *, unanswered: bool) -> None:
        """Note an interrupted check."""
        if unanswered:
            self._interrupted.add(node_id)
        super().disconnected(node_id, unanswered=unanswered)


class ForgetfulClient(NetworkClient):
    """Negotiates versions in this way."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._versions = ForgetfulNegotiation(
            api_versions=self.api_versions,
            connection_states=self.connection_states,
            selector=self.selector,
            in_flight=self._in_flight,
            send=self._send_internal,
        )


DEFECT: Final = Defect(
    name="forgets-the-version-check",
    lesson=__doc__,
    source="KAFKA-13388; librdkafka#4948",
    affected="Java before 3.0.1, 3.1.1 and 3.2.0; librdkafka before 2.11",
    anomalies=("api-versions-trap",),
    parts={"network_client": ForgetfulClient},
)
