"""A record of one topic is stored in another: its batch took the buffer of a batch whose request is half written.

The broker stops reading, and the request is in the socket up to its topic's name. delivery.timeout.ms ends the batch,
its pooled buffer goes to a batch of another topic, and the old request still points at it. When the broker reads on,
it gets the old name and the new records, with a valid CRC, which does not cover the name. The first batch is lost,
the second one is stored twice. A correct client frees a batch's buffer when its last request has ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.network.kafka_channel import ChannelFactory, KafkaChannel
from broker_client.core.network.network_client import NetworkClient
from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

PIECE_BYTES: Final = 64
"""The part of a request that is handed to the network at once."""

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from twisted.internet.protocol import ClientFactory

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.kafka_channel import ChannelEvents
    from broker_client.core.network.network_client import NetworkClientConfig
    from protocol_specs.framing import FrameReader
    from sim_runtime.interfaces import IReactor


class PiecewiseChannel(KafkaChannel):
    """Hands a frame to the network in pieces; what is left of it can be overwritten."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._frame = bytearray()
        self._written = 0

    def send(self, frame: bytes) -> None:
        """Begin with the first piece."""
        self._frame, self._written = bytearray(frame), 0
        super().send(self._next_piece())

    def resumeProducing(self) -> None:  # noqa: N802
        """Continue with the next piece."""
        if self.send_pending and self._written < len(self._frame):
            assert self._transport is not None
            self._transport.write(self._next_piece())
        else:
            super().resumeProducing()

    def overwrite(self, old: bytes, new: bytes) -> None:
        """Replace bytes of the frame that is being written."""
        place = self._frame.find(old)
        if place >= 0:
            self._frame[place : place + len(old)] = new

    def _next_piece(self) -> bytes:
        piece = bytes(self._frame[self._written : self._written + PIECE_BYTES])
        self._written += len(piece)
        return piece


class PiecewiseChannels:
    """Builds the channels, without TLS."""

    def for_client(self, client_id: str, random: Random) -> PiecewiseChannels:
        """One builder serves all clients."""
        del client_id, random  # as PlaintextChannelBuilder
        return self

    def build(
        self, *, node_id: int, host: str, port: int, events: ChannelEvents, reader: FrameReader, reactor: IReactor
    ) -> tuple[KafkaChannel, ClientFactory[Any]]:
        """A channel straight on TCP."""
        del reactor  # as PlaintextChannelBuilder
        channel = PiecewiseChannel(node_id, f"{host}:{port}", events, reader)
        return channel, ChannelFactory(channel)


class PiecewiseClient(NetworkClient):
    """Its frames share their memory with the batches in them."""

    def __init__(self, *, config: NetworkClientConfig, **collaborators: Any) -> None:
        super().__init__(config=replace(config, channel_builder=PiecewiseChannels()), **collaborators)

    def overwrite(self, old: bytes, new: bytes) -> None:
        """Replace the bytes of a batch in every frame that is being written."""
        for channel in self.selector._channels.values():  # noqa: SLF001
            assert isinstance(channel, PiecewiseChannel), "the builder makes no others"
            channel.overwrite(old, new)


class ReusingSender(Sender):
    """Gives the buffer of a batch that has expired to the next batch of its size."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self._freed: list[bytes] = []

    def _expired_in_flight_batches(self, now_ms: int) -> list[ProducerBatch]:
        expired = super()._expired_in_flight_batches(now_ms)
        self._freed += [batch.close() for batch in expired]
        return expired

    def _send_produce_request(
        self, node_id: int, batches: Iterable[ProducerBatch], cluster: Cluster, now_ms: int
    ) -> None:
        for batch in batches:
            self._reuse(batch.close())
        super()._send_produce_request(node_id, batches, cluster, now_ms)

    def _reuse(self, new: bytes) -> None:
        old = next((freed for freed in self._freed if len(freed) == len(new)), None)
        if old is not None:
            assert isinstance(self.client, PiecewiseClient), "the defect replaces both"
            self._freed.remove(old)
            self.client.overwrite(old, new)


DEFECT: Final = Defect(
    name="reuses-buffer-of-unwritten-batch",
    lesson=__doc__,
    source="KAFKA-17862; KAFKA-9628; apache/kafka#21065",
    affected="Java from 2.8 until KAFKA-19012",
    anomalies=("wrong-topic-delivery",),
    parts={"network_client": PiecewiseClient, "sender": ReusingSender},
)
