"""Channels that authenticate by SASL above those of another builder: on TCP or on TLS. Mirrors SaslChannelBuilder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from broker_client.core.network.sasl.channel_authentication import ChannelAuthentication

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from twisted.internet.protocol import ClientFactory

    from broker_client.core.network.channel_builder import ChannelBuilder
    from broker_client.core.network.kafka_channel import ChannelEvents, KafkaChannel
    from broker_client.core.network.sasl.login import Login
    from protocol_specs.framing import FrameReader
    from sim_runtime.interfaces import IReactor

__all__ = ["SaslChannelBuilder", "SaslChannels"]


class SaslChannels:
    """The configuration of SASL_PLAINTEXT or SASL_SSL: the channels below, and a login for each client."""

    def __init__(
        self,
        transports: ChannelBuilder,
        new_login: Callable[[], Login],
        authentication: type[ChannelAuthentication] = ChannelAuthentication,
    ) -> None:
        self._transports = transports
        self._new_login = new_login
        self._authentication = authentication

    def with_authentication(self, authentication: type[ChannelAuthentication]) -> SaslChannels:
        """The same with another class of authentications."""
        return SaslChannels(self._transports, self._new_login, authentication)

    def for_client(self, client_id: str, random: Random) -> ChannelBuilder:
        """Log a client in and return the builder of its channels."""
        authentication = partial(self._authentication, login=self._new_login(), client_id=client_id, random=random)
        return SaslChannelBuilder(self._transports, authentication)


class SaslChannelBuilder:
    """The channels of one client."""

    def __init__(self, transports: ChannelBuilder, new_authentication: partial[ChannelAuthentication]) -> None:
        self._transports = transports
        self._new_authentication = new_authentication

    def build(
        self, *, node_id: int, host: str, port: int, events: ChannelEvents, reader: FrameReader, reactor: IReactor
    ) -> tuple[KafkaChannel, ClientFactory[Any]]:
        """A channel that is connected when the broker has accepted the client."""
        channel, factory = self._transports.build(
            node_id=node_id, host=host, port=port, events=events, reader=reader, reactor=reactor
        )
        channel.authentication = self._new_authentication(reactor=reactor)
        return channel, factory
