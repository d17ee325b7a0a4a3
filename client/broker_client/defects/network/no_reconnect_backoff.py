"""A client whose connection is refused or closed connects again at once, without end.

A broker that is down refuses, a broker that starts up accepts and closes. Each client turns that into a loop of
connects at the full speed of its CPU, and a fleet of clients keeps the broker from starting. A correct client waits
reconnect.backoff.ms, twice as long after each failure, with jitter (KIP-144).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.network_client import NetworkClientConfig


class HastyClient(NetworkClient):
    """Has no back-off between connections."""

    def __init__(self, *, config: NetworkClientConfig, **collaborators: Any) -> None:
        config = replace(config, reconnect_backoff_ms=0, reconnect_backoff_max_ms=0)
        super().__init__(config=config, **collaborators)


DEFECT: Final = Defect(
    name="no-reconnect-backoff",
    lesson=__doc__,
    source="KIP-144; KAFKA-1642; kafka-python#2616",
    affected="Java before 0.8.2; kafka-python before 2.2.5",
    anomalies=("reconnect-storm",),
    parts={"network_client": HastyClient},
)
