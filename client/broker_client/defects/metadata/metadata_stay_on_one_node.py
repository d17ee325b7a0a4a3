"""The client's own requests stay with the broker that it chose first, even if that broker is gone.

Metadata, InitProducerId and FindCoordinator may go to any broker. The client queues them for one, and moves them to
no other when it does not respond: new topics stay unknown and transactions do not begin, while all other brokers are
healthy. A correct client chooses the least loaded connected broker for each attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.cluster import Node


class FaithfulClient(NetworkClient):
    """Chooses a node once, for as long as the metadata list it."""

    _chosen: int | None = None

    def least_loaded_node(self, now_ms: int) -> tuple[Node | None, bool]:
        """Return the node of the first choice."""
        for node in self._updater.nodes():
            if node.id == self._chosen:
                return node, True
        found, any_ready = super().least_loaded_node(now_ms)
        self._chosen = None if found is None else found.id
        return found, any_ready


DEFECT: Final = Defect(
    name="metadata-stay-on-one-node",
    lesson=__doc__,
    source="librdkafka, changelog of 2.10.0",
    affected="librdkafka before 2.10.0, aiokafka before 0.13.0",
    anomalies=("metadata-stuck-on-dead-broker",),
    parts={"network_client": FaithfulClient},
)
