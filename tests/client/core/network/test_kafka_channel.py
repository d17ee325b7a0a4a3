"""How a channel reads from a kernel socket."""

from __future__ import annotations

import socket

from twisted.internet import tcp
from twisted.internet.protocol import Protocol
from twisted.internet.testing import MemoryReactor

from broker_client.core.network.kafka_channel import KafkaChannel
from protocol_specs.framing import FrameReader


class Events:
    """The events of a channel, which are not looked at."""

    def channel_connected(self, channel: KafkaChannel) -> None: ...

    def channel_active(self, channel: KafkaChannel) -> None: ...

    def channel_written(self, channel: KafkaChannel) -> None: ...

    def channel_lost(self, channel: KafkaChannel, reason: str) -> None: ...


def test_the_rest_of_a_large_response_is_awaited_and_read_at_once() -> None:
    channel = KafkaChannel(1, "node 1", Events(), FrameReader(limit_bytes=1 << 24, option="test"))
    with socket.socket() as connected:
        transport = tcp.Connection(connected, Protocol(), MemoryReactor())
        channel.makeConnection(transport)
        channel.dataReceived((500_000).to_bytes(4, "big"))
        awaited = connected.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)
        assert (transport.bufferSize, awaited) == (500_000, 500_000)
        channel.dataReceived(bytes(500_000))
        assert list(channel.staged) == [bytes(500_000)]
        assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1
