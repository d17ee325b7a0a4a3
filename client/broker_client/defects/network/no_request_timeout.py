"""A request without a whole response is waited for without end: no time-out runs once it is written.

A broker stops in the middle of a response, or a firewall drops the rest. The client reads the size, waits for the
bytes, and closes nothing: up to max.in.flight.requests.per.connection requests are stuck, and everything for that
broker waits until delivery.timeout.ms ends it. A correct client closes the connection after request.timeout.ms and
retries on a new one.
"""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect

NEVER_MS: Final = 1 << 62


class PatientClient(NetworkClient):
    """Gives every request all the time."""

    def _send(
        self,
        node_id: int,
        request: Any,
        now_ms: int,
        callback: Any,
        expect_response: bool,  # noqa: FBT001
        timeout_ms: int | None,
        highest_version: int | None,
    ) -> int:
        del timeout_ms
        return super()._send(node_id, request, now_ms, callback, expect_response, NEVER_MS, highest_version)


DEFECT: Final = Defect(
    name="no-request-timeout",
    lesson=__doc__,
    source="KAFKA-4966",
    affected="clients without a time-out while they read",
    anomalies=("partial-frame",),
    parts={"network_client": PatientClient},
)
