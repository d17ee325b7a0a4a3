"""A client authenticates once for each connection, and does not prolong its session.

A broker with connections.max.reauth.ms, and one whose clients have credentials that expire, states the lifetime of a
session. At the first request past its end the broker closes the connection without a response. The client retries what
it can; a request with acks=0 is lost, and one without retries has an unknown outcome. A correct client authenticates
again on the connection before the session ends (KIP-368), behind the requests that are in flight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.core.network.sasl.channel_authentication import ChannelAuthentication
from broker_client.core.network.sasl.channel_builder import SaslChannels
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.network.network_client import NetworkClientConfig


class OneSession(ChannelAuthentication):
    """Ignores the lifetime of its session."""

    def begin_again_if_due(self) -> bytes | None:
        """Return None: there is no second authentication."""
        return None


class OneSessionClient(NetworkClient):
    """Its channels authenticate once."""

    def __init__(self, *, config: NetworkClientConfig, **collaborators: Any) -> None:
        channels = config.channel_builder
        if isinstance(channels, SaslChannels):
            config = replace(config, channel_builder=channels.with_authentication(OneSession))
        super().__init__(config=config, **collaborators)


DEFECT: Final = Defect(
    name="no-reauthentication",
    lesson=__doc__,
    source="KIP-368; librdkafka#3293; aiokafka#1105; kafka-python#3029",
    affected="librdkafka 1.x, Sarama before 1.33, aiokafka, kafka-python before #3029",
    anomalies=("reauth",),
    parts={"network_client": OneSessionClient},
)
