"""A connection that the broker closes before its first response counts as a wrong configuration, and ends the attempt.

A TLS or SASL listener closes connections of clients that do not speak its protocol, and a broker that restarts closes
them, too. A client that takes every early end for the first loses its retries during a rolling restart: sends fail at
once. One that takes it for the second retries a wrong security.protocol for ever. A correct client retries with a
back-off and logs the suspicion, or lets its user choose.
"""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.network.kafka_channel import ChannelState
from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect
from broker_client.errors import AuthenticationFailed


class SuspiciousClient(NetworkClient):
    """Takes the end of a connection without API versions for a refusal."""

    def _process_disconnection(
        self, node_id: int, state: ChannelState, reason: str, now_ms: int, **details: Any
    ) -> None:
        if self.connection_states.is_preparing(node_id) and state is ChannelState.READY:
            details["refused"] = AuthenticationFailed(f"{reason}: is security.protocol the listener's?")
        super()._process_disconnection(node_id, state, reason, now_ms, **details)


DEFECT: Final = Defect(
    name="eof-is-fatal",
    lesson=__doc__,
    source="franz-go, changelog of 1.21; librdkafka, changelog of 2.2.0",
    affected="franz-go before 1.21, librdkafka 2.x before 2.2.0 with TLS",
    anomalies=("eof-ambiguity",),
    parts={"network_client": SuspiciousClient},
)
