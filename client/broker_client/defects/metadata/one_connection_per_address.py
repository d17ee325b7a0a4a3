"""Requests for one broker reach another: brokers that once had the same address share a connection for ever.

While a cluster changes, metadata may list two node ids behind one host and port, or an id at its old host. The client
knows its connections by address, joins the two ids, and keeps them joined when later metadata have two addresses. The
broker that is reached is not the leader and refuses. A correct client knows connections by node id and follows the
address in the newest metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.network.cluster import Node
    from broker_client.core.network.in_flight_requests import ClientResponse
    from protocol_specs.message import Message


class ClientByAddress(NetworkClient):
    """Sends to the first node id that was seen at an address."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._first_at: dict[tuple[str, int], int] = {}
        self._joined: dict[int, int] = {}

    def poll(self, now_ms: int) -> bool:
        """Look at the addresses first."""
        if not self.metadata.cluster.is_bootstrap:
            for node in self._updater.nodes():
                first = self._first_at.setdefault((node.host, node.port), node.id)
                if first != node.id:
                    self._joined.setdefault(node.id, first)
        return super().poll(now_ms)

    def ready(self, node: Node, now_ms: int) -> bool:
        """As NetworkClient, for the node of the connection."""
        return super().ready(self.metadata.cluster.nodes.get(self._joined.get(node.id, node.id), node), now_ms)

    def send(
        self, node_id: int, request: Message, now_ms: int, *, callback: Callable[[ClientResponse], None], **options: Any
    ) -> int:
        """As NetworkClient, on the connection of the joined node."""
        return super().send(self._joined.get(node_id, node_id), request, now_ms, callback=callback, **options)


DEFECT: Final = Defect(
    name="one-connection-per-address",
    lesson=__doc__,
    source="librdkafka, changelog of 2.10.0",
    affected="librdkafka before 2.10.0",
    anomalies=("broker-identity-by-host",),
    parts={"network_client": ClientByAddress},
)
