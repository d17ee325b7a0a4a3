"""The layers of a connection: frames on TCP or on TLS, perhaps with SASL before them. Mirrors ChannelBuilder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_client.core.network.kafka_channel import ChannelFactory, KafkaChannel

if TYPE_CHECKING:
    from random import Random

    from twisted.internet.protocol import ClientFactory

    from broker_client.core.network.kafka_channel import ChannelEvents
    from protocol_specs.framing import FrameReader
    from sim_runtime.interfaces import IReactor

__all__ = ["PLAINTEXT_CHANNELS", "ChannelBuilder", "ClientChannels", "PlaintextChannelBuilder"]


class ChannelBuilder(Protocol):
    """The channels of one client."""

    def build(
        self, *, node_id: int, host: str, port: int, events: ChannelEvents, reader: FrameReader, reactor: IReactor
    ) -> tuple[KafkaChannel, ClientFactory[Any]]:
        """A channel, and what to connect with so that it gets its transport."""
        ...


class ClientChannels(Protocol):
    """One for each configuration of security.protocol."""

    def for_client(self, client_id: str, random: Random) -> ChannelBuilder:
        """The builder of one client's channels; `random` draws the nonces and times of its authentications."""
        ...


class PlaintextChannelBuilder:
    """Mirrors PlaintextChannelBuilder."""

    def for_client(self, client_id: str, random: Random) -> ChannelBuilder:  # noqa: ARG002 - see ClientChannels
        """One builder serves all clients."""
        return self

    def build(
        self,
        *,
        node_id: int,
        host: str,
        port: int,
        events: ChannelEvents,
        reader: FrameReader,
        reactor: IReactor,  # noqa: ARG002 - see ChannelBuilder
    ) -> tuple[KafkaChannel, ClientFactory[Any]]:
        """A channel straight on TCP."""
        channel = KafkaChannel(node_id, f"{host}:{port}", events, reader)
        return channel, ChannelFactory(channel)


PLAINTEXT_CHANNELS: Final = PlaintextChannelBuilder()
