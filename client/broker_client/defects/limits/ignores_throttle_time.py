"""The client sends on while the broker throttles it.

A broker that throttles responds at once, names throttle_time_ms, and reads nothing from the connection for that long
(KIP-219). A client that ignores the number goes on sending: its bytes wait in the socket, its requests exceed
request.timeout.ms, it closes the connection and starts again, and so adds to the load. A correct client sends nothing
before the time is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.in_flight_requests import InFlightRequest
    from protocol_specs.message import Message


class UnthrottledClient(NetworkClient):
    """Has no use for throttle_time_ms."""

    def _maybe_throttle(self, request: InFlightRequest, response: Message, now_ms: int) -> None:
        """Do nothing."""


DEFECT: Final = Defect(
    name="ignores-throttle-time",
    lesson=__doc__,
    source="KIP-219; kafka-python#2510",
    affected="kafka-python before 2.1, Java before 2.0",
    anomalies=("client-ignores-throttle-time",),
    parts={"network_client": UnthrottledClient},
)
