"""A response that comes after its request has timed out is taken for that of the next request.

The client ends a request after request.timeout.ms and keeps its connection. The late response arrives when another
request is the oldest one, and no correlation id is compared: a record is acknowledged with the offset of another,
though the broker has refused it, and every later response is off by one. A correct client closes the connection with
the first time-out, and with any correlation id that it does not expect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.in_flight_requests import Delivery
from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.selector import NetworkReceive


class KeepingClient(NetworkClient):
    """Ends overdue requests one by one, and matches responses by their order alone."""

    def _handle_timed_out_requests(self, now_ms: int) -> None:
        for node_id in self._in_flight.nodes_with_overdue_requests(now_ms):
            for request in self._in_flight.clear_all(node_id):
                if not request.is_overdue(now_ms):
                    self._in_flight.add(request)
                elif request.is_internal:
                    self._updater.handle_failed_request(now_ms)
                else:
                    self._end(request, Delivery.TIMED_OUT, now_ms)
        self._gave_up = True

    def _handle_completed_receive(self, receive: NetworkReceive, now_ms: int) -> None:
        if not self._in_flight.count(receive.node_id):
            return
        oldest = self._in_flight.complete_next(receive.node_id)
        self._in_flight.put_back(oldest)
        receive.payload = oldest.correlation_id.to_bytes(4, "big") + receive.payload[4:]
        super()._handle_completed_receive(receive, now_ms)


DEFECT: Final = Defect(
    name="keeps-connection-after-timeout",
    lesson=__doc__,
    source="KAFKA-4669; kafka-python#1748; streamnative/kop#199",
    affected="clients that match responses by their order alone",
    anomalies=("correlation-mismatch",),
    parts={"network_client": KeepingClient},
)
